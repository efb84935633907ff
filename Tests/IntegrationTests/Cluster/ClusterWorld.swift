import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

/// A PostgreSQL that tests share. Each has a database of its own in it.
actor SharedPostgres {
    private static let instance = SharedPostgres()
    private var server: PostgresServer?
    private var databaseCount = 0

    static func database() async throws -> (server: PostgresServer, name: String) { try await self.instance.next() }

    private func next() async throws -> (server: PostgresServer, name: String) {
        let server: PostgresServer
        if let known = self.server {
            server = known
        } else {
            server = try await PostgresServer.started(isInMemory: true)
            self.server = server
        }
        self.databaseCount += 1
        let name = "cluster\(self.databaseCount)"
        try await server.sql("CREATE DATABASE \(name)")
        return (server, name)
    }
}

/// A cluster under test: a database with its log, and the nodes that a test starts.
final class ClusterWorld: Sendable {
    let postgres: PostgresServer
    let database: String
    let url: String

    private init(_ postgres: PostgresServer, _ database: String, url: String) {
        self.postgres = postgres
        self.database = database
        self.url = url
    }

    /// A database of the shared PostgreSQL, or all of `postgres`. `url`: the address for the nodes. `initial`:
    /// arguments of `nestd cluster init`; `nil`: it is not run.
    static func begun(
        on postgres: PostgresServer? = nil,
        url: String? = nil,
        initial: [String]? = []
    ) async throws -> ClusterWorld {
        let (server, database): (PostgresServer, String)
        if let postgres {
            (server, database) = (postgres, "postgres")
        } else {
            (server, database) = try await SharedPostgres.database()
        }
        let world = ClusterWorld(server, database, url: url ?? server.url(database: database))
        if let initial {
            let made = try await world.nestd(["cluster", "init"] + initial)
            try #require(made.status == 0, "\(made.report)")
        }
        return world
    }

    @discardableResult
    func sql(_ statements: String) async throws -> String {
        try await self.postgres.sql(statements, database: self.database)
    }

    func nestd(_ arguments: [String], withLog: Bool = true) async throws -> CommandLineUser.Result {
        try await CommandLineUser.Result(
            ChildProcess(Program.nestd, arguments + (withLog ? ["--log", self.url] : []))
        )
    }

    func node(_ name: String, _ arguments: String...) -> ServerProcess {
        ServerProcess(storeName: "\(name).sqlite", arguments: ["--log", self.url, "--node", name] + arguments)
    }

    func started(_ name: String) async throws -> ServerProcess {
        let node = self.node(name)
        try await node.start()
        return node
    }

    /// Waits until a node other than `former` leads, which has written its leader record, and returns its name.
    @discardableResult
    func leader(after former: String? = nil) async throws -> String {
        try await waitFor("a leader") {
            let row = try await self.sql(
                """
                SELECT n.name FROM nest.store s JOIN nest.node n ON n.node = s.leader AND n.expires > clock_timestamp()
                WHERE s.epoch = (SELECT max(epoch) FROM nest.log)
                """
            )
            return row.isEmpty || row == former ? nil : row
        }
    }

    func leader(among nodes: [String: ServerProcess], after former: String? = nil) async throws -> ServerProcess {
        try #require(nodes[try await self.leader(after: former)])
    }
}

extension ServerProcess {
    /// Inserts an item below the root, as one request that waits until it is possible.
    @discardableResult
    func insert(_ title: String, key: Identifier128? = nil, session: Identifier128? = nil) async throws -> ObjectID {
        let client = NestClient(self.configuration(session: session))
        let transaction = WriteTransaction(key: key, mutations: [Item.insert(title, under: Item.root)])
        do {
            let receipt = try await client.transaction(transaction)
            await client.close()
            return try #require(receipt.insertedIDs.first)
        } catch {
            await client.close()
            throw error
        }
    }

    /// Returns the titles below the root, sorted.
    func titles() async throws -> [String] {
        let client = NestClient(self.configuration())
        do {
            let titles = try await client.fetch(Item.childrenOf(Item.root)).titles.values.sorted()
            await client.close()
            return titles
        } catch {
            await client.close()
            throw error
        }
    }

    /// Waits until the node shows these titles.
    func shows(_ titles: [String]) async throws {
        var last: [String] = []
        do {
            _ = try await waitFor("\(titles)") {
                last = (try? await self.titles()) ?? []
                return last == titles.sorted() ? true : nil
            }
        } catch {
            throw ProcessFailure("shows \(last), not \(titles)\(await self.process?.report ?? "")")
        }
    }

    func historyID() async throws -> Identifier128 {
        let client = NestClient(self.configuration())
        _ = try? await client.fetch(Item.childrenOf(Item.root))
        let server = await client.server
        await client.close()
        guard let server else { throw ProcessFailure("the node does not answer") }
        return server.historyID
    }

    func log(contains text: String) async throws {
        try await self.process?.waitForErrors(text)
    }
}
