// What every TypeScript client has to be able to do: list the tools, get an answer, and read an error with its hint.
import assert from "node:assert/strict";

const { SERVER, FOLDER, URL_OF_SERVER, KEY, NODE } = process.env;

export async function check({ Client, StdioClientTransport, StreamableHTTPClientTransport }) {
  const headers = { Authorization: `Bearer ${KEY}` };
  const ways = {
    stdio: () => new StdioClientTransport({ command: SERVER, args: ["-m", "affidavit", "mcp", "--bundles", FOLDER] }),
    http: () => new StreamableHTTPClientTransport(new URL(URL_OF_SERVER), { requestInit: { headers } }),
  };
  for (const [way, transport] of Object.entries(ways)) {
    const client = new Client({ name: "stranger", version: "1" });
    await client.connect(transport());
    const { tools } = await client.listTools();
    assert.ok(tools.some((tool) => tool.name === "quick_triage"));
    const answer = await client.callTool({ name: "errors", arguments: { instanceId: NODE } });
    assert.equal(answer.structuredContent.success, true);
    const refused = await client.callTool({ name: "errors", arguments: { instanceId: "i-00000000" } });
    assert.equal(refused.isError, true);
    assert.equal(refused.structuredContent, undefined);
    assert.ok(JSON.parse(refused.content[0].text).hint);
    await client.close();
    console.log(`${way}: ${tools.length} tools, an answer and an error`);
  }
}
