import NestClient

try await NestClient.withClient(ClientConfiguration(host: "127.0.0.1", port: 7000)) { client in
    print("undid: \(try await client.undo().name)")
}
