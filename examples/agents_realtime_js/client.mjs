// A RealtimeSession of @openai/agents-realtime, pointed at a gateway.
// Start a gateway first (make serve), then: npm install && node client.mjs [URL] [QUESTION]
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } from "@openai/agents-realtime";

const url = process.argv[2] ?? "ws://127.0.0.1:8787/v1/realtime";
const question = process.argv[3] ?? "How many reviewers does a release need?";

const agent = new RealtimeAgent({ name: "Receptionist", instructions: "Answer from the documents." });
const session = new RealtimeSession(agent, { transport: new OpenAIRealtimeWebSocket({ url }) });

const answered = new Promise((resolve, reject) => {
  session.on("error", (event) => reject(new Error(JSON.stringify(event.error))));
  session.on("history_updated", (history) => {
    const last = history.at(-1);
    if (last?.role !== "assistant" || last.status !== "completed") return;
    const answer = last.content.map((part) => part.text ?? part.transcript ?? "").join("");
    if (answer) resolve(answer);
  });
});

await session.connect({ apiKey: "a token of the gateway, where it has tokens" });
session.sendMessage(question);
console.log(await answered);
session.close();
