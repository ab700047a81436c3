// The client package of TypeScript SDK 2.x.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as stdio from "@modelcontextprotocol/client/stdio";
import { check } from "./check.mjs";

await check({ Client, StdioClientTransport: stdio.StdioClientTransport, StreamableHTTPClientTransport });
