import NestClient

/// The code that the README quotes.
@MainActor enum ReadmePage {
    static func run() async throws {
        try await NestClient.withClient(ClientConfiguration(host: "127.0.0.1", port: 7000)) { client in
            let item = try await client.entity("Item")
            let list = try item.request(where: "parent == 1", sort: "order", properties: ["title", "done"])
            try await client.withFetchedResults(list) { results in
                for try await change in results {  // the first rows, then each change, across lost connections
                    for row in change.rows { print(row.text("title")) }
                }
            }
        }
    }
}
