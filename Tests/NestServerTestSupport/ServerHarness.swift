import Logging
import NIOCore
import NestModel
import NestServer
import NestStore

/// Runs `body` with a server that listens on a free port and has an in-memory store.
@discardableResult
package func withServer<Result>(
    _ configure: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (Int, Server) async throws -> Result
) async throws -> Result {
    try await withListeningServer(configure) { listening, server in try await body(listening.port, server) }
}

/// The same, with a port for browsers. The first number is the port for clients over TCP, the second that for browsers.
@discardableResult
package func withWebServer<Result>(
    _ configure: (inout ServerConfiguration) -> Void = { _ in },
    root: String? = nil,
    _ body: (Int, Int, Server) async throws -> Result
) async throws -> Result {
    try await withListeningServer { configuration in
        configuration.web = WebConfiguration(host: "127.0.0.1", port: 0, root: root)
        // Without files of its own the server has a small page.
        if root == nil {
            let file = WebPage.File(path: "index.html", version: "1", text: "<title>nest</title>\n")
            configuration.web?.page = WebPage(files: ["index.html": file], index: "index.html", places: [])
        }
        configure(&configuration)
    } _: { listening, server in
        try await body(listening.port, listening.webPort ?? 0, server)
    }
}

private func withListeningServer<Result>(
    _ configure: (inout ServerConfiguration) -> Void,
    _ body: (Server.Listening, Server) async throws -> Result
) async throws -> Result {
    var configuration = ServerConfiguration(
        host: "127.0.0.1",
        port: 0,
        store: Store.Configuration(location: .memory, model: .nestedList),
        serverName: "test"
    )
    configuration.eventLoopCount = 2
    configuration.timing.sweep = .milliseconds(20)
    configure(&configuration)
    let server = Server(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let listening = try await server.start()
    do {
        let result = try await body(listening, server)
        try await server.stop()
        return result
    } catch {
        try await server.stop()
        throw error
    }
}

extension WriteTransaction {
    /// Returns a transaction that inserts Items with these titles after the last child of the root.
    package static func insert(_ titles: String..., key: Identifier128? = nil) -> WriteTransaction {
        self.insert(titles, key: key)
    }

    package static func insert(_ titles: [String], key: Identifier128? = nil) -> WriteTransaction {
        WriteTransaction(
            key: key,
            mutations: titles.map { title in
                .insert(
                    entity: EntityNumber(1),
                    values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
                    placements: [
                        Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last)
                    ]
                )
            }
        )
    }
}

extension ObjectFetchRequest {
    /// A request for the root's children with their titles.
    package static let rootChildren = ObjectFetchRequest(
        entity: EntityNumber(1),
        source: FetchSource(object: ObjectID(1), relationship: PropertyNumber(6)),
        projection: [PropertyNumber(1)]
    )
}
