import NestClient

try await NestClient.withClient(ClientConfiguration(host: "127.0.0.1", port: 7000)) { client in
    let item = try await client.entity("Item")
    let list = try item.request(where: "parent == 1", sort: "order", properties: ["title"])
    try await client.withFetchedResults(list) { results in
        for try await change in results {
            print((["list:"] + change.rows.map { $0.text("title") }).joined(separator: " "))
        }
    }
}
