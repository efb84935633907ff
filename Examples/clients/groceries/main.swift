import NestClient

try await NestClient.withClient(ClientConfiguration(host: "127.0.0.1", port: 7000)) { client in
    let item = try await client.entity("Item")
    let context = ObjectContext(client)
    let groceries = try context.insert(item, ["title": "Groceries"], under: ObjectID(1))
    let milk = try context.insert(item, ["title": "Milk"], under: groceries)
    for title in ["Bread", "Eggs"] { try context.insert(item, ["title": title], under: groceries) }
    try await context.save(name: "plan the shopping")

    guard let list = context.objectID(of: groceries) else { return }
    let open = try item.request(where: "parent == \(list) AND done == NO", sort: "order", properties: ["title"])
    try await client.withFetchedResults(open) { results in
        for try await change in results {
            let titles = change.rows.map { $0.text("title") }.joined(separator: " ")
            switch change.change {
            case .snapshot:
                print("snapshot: \(titles)")
                try context.set(milk, of: item, ["done": true])
                try await context.save(name: "buy milk")
            case .diff:
                print("diff: \(titles)")
                if change.rows.count == 3 { return }
                print("undid: \(try await client.undo().name)")
            default: break
            }
        }
    }
}
