// Passes requests on to the server with the bearer key, which the conformance suite has no option for.
import http from "node:http";

const { URL_OF_SERVER, KEY } = process.env;
const server = new URL(URL_OF_SERVER);

function pass(request, response) {
  const headers = { ...request.headers, authorization: `Bearer ${KEY}` };
  const { hostname: host, port } = server;
  const onward = http.request({ host, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

const proxy = http.createServer(pass).listen(0, "127.0.0.1", () => console.log(proxy.address().port));
