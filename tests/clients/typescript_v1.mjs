// TypeScript SDK 1.x: validates structuredContent against outputSchema, also of errors.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { check } from "./check.mjs";

await check({ Client, StdioClientTransport, StreamableHTTPClientTransport });
