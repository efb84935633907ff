import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing
import NestSchema

extension ProcessTests {
    /// The process is killed at every failpoint, at its first and later passages. Afterwards acknowledged writes are
    /// stored, other writes are stored wholly or not at all, and a retry with the same key is executed once.
    ///
    /// `NEST_PASSAGES=50 swift test --filter FailpointTests` tests 50 passages of each.
    @Suite struct FailpointTests {
        private static let passages = Int(ProcessInfo.processInfo.environment["NEST_PASSAGES"] ?? "") ?? 2

        /// Whether this build has failpoints. Release builds have none.
        private static var hasFailpoints: Bool {
            #if DEBUG
            true
            #else
            false
            #endif
        }

        @Test(
            .enabled(if: hasFailpoints, "failpoints are in builds for debugging only"),
            arguments: [
                "request.done", "block.written", "commit.written", "commit.durable", "checkpoint.begun",
                "checkpoint.done", "store.made", "store.named",
            ]
        )
        func writesAreWholeOrAbsent(failpoint: String) async throws {
            for passage in 1...Self.passages {
                let server = ServerProcess()
                let writer = FailpointWriter(server)
                try await server.start(environment: ["NEST_FAILPOINTS": "\(failpoint)=\(passage)"], mayDie: true)
                let end = try await writer.writeUntilItDies()
                // Some failpoints are passed only once.
                if passage == 1 { #expect(end == .signal(SIGKILL), "\(failpoint) was never passed") }
                // The server may have been killed before the first write.
                try await server.start()
                let faults = try await writer.faults()
                #expect(faults == [], "\(failpoint), passage \(passage)")
                try await server.terminate()
                let broken = try StoredInvariants(ModelLayout(.nestedList)).broken(
                    in: StoredFile(server.storePath),
                    head: Revision(UInt64.max >> 1)
                )
                #expect(broken == [], "\(failpoint), passage \(passage)")
            }
        }

        private static func model(_ attributes: String...) -> String {
            let list = attributes.map { "{\"name\": \"\($0)\", \"type\": \"string\", \"optional\": true}" }
            return """
                {"format": "nest-model", "entities": [{"name": "User", "attributes": [\(list.joined(separator: ", "))]}]}
                """
        }

        /// A server that is killed while it gets another model has the old one or the new one.
        @Test(
            .enabled(if: hasFailpoints, "failpoints are in builds for debugging only"),
            arguments: [("model.written", false), ("model.durable", true)]
        )
        func aKilledChangeOfTheModelIsCompleteOrAbsent(failpoint: String, isComplete: Bool) async throws {
            let server = try await ServerProcess.started(model: Self.model("name"))
            let user = await CommandLineUser(server)
            for number in 0..<3 { try await user.output("insert", "User", "name=user \(number)") }
            try await server.killNow()
            try await server.start(environment: ["NEST_FAILPOINTS": "\(failpoint)=1"], mayDie: true)
            let file = "\(server.directory.path)/new.json"
            try Self.model("name", "mail").write(toFile: file, atomically: true, encoding: .utf8)
            let applied = try await user.run("model", "apply", file, "--timeout", "5")
            #expect(applied.status != 0, "\(applied.report)")
            #expect(try await server.process?.waitForEnd() == .signal(SIGKILL))

            // The older file does not undo the change.
            try await server.start()
            let model = try await user.output("model", "show")
            #expect(model.contains("mail") == isComplete, "\(failpoint): \(model)")
            let rows = try await user.output("fetch", "--entity", "User", "--properties", "name", "--json")
            #expect(rows.components(separatedBy: "user ").count == 4, "\(failpoint)")
            try await user.output("check", "--quiet")
            let again = try await user.output("model", "apply", file)
            #expect(again.contains("already") == isComplete, "\(failpoint): \(again)")
        }

        @Test(
            .enabled(if: hasFailpoints, "failpoints are in builds for debugging only"),
            arguments: ["migration.copied", "migration.written", "migration.durable", "checkpoint.begun"]
        )
        func aKilledMigrationIsCompleteOrAbsent(failpoint: String) async throws {
            let server = try await ServerProcess.started(model: Self.model("name"))
            let user = await CommandLineUser(server)
            for number in 0..<3 { try await user.output("insert", "User", "name=user \(number)") }
            try await server.killNow()
            try await server.replaceModel(Self.model("name", "mail"))
            try await server.start(environment: ["NEST_FAILPOINTS": "\(failpoint)=1"], mayDie: true)
            let end = await server.process?.poll()
            #expect(end == .signal(SIGKILL))

            try await server.start()
            let rows = try await user.output("fetch", "--entity", "User", "--properties", "name,mail", "--json")
            #expect(rows.components(separatedBy: "user ").count == 4, "\(failpoint)")
            try await user.output("check", "--quiet")
            // There is exactly one copy of the store from before the migration.
            let files = try FileManager.default.contentsOfDirectory(atPath: server.directory.path)
            #expect(files.filter { $0.contains("before-migration") } == ["nest.sqlite.before-migration-3"], "\(files)")
        }
    }
}

/// Writes, imports and undoes until the server dies, and records the acknowledged writes.
private actor FailpointWriter {
    private let server: ServerProcess
    private var acknowledged: [ObjectID: String] = [:]
    private var doubtful: (title: String, key: Identifier128)?
    private var head = Revision(0)
    private var number = 0
    private let session = Identifier128(high: 77, low: 1)

    init(_ server: ServerProcess) {
        self.server = server
    }

    private func client() async -> NestClient {
        NestClient(await self.server.configuration(session: self.session, requestTimeout: .seconds(20)))
    }

    /// Writes until the server dies and returns how it ended.
    func writeUntilItDies() async throws -> ChildProcess.End {
        let client = await self.client()
        let process = try #require(await self.server.process)
        // Close the client, which would otherwise wait for the server to return.
        let watcher = Task {
            _ = try await process.waitForEnd()
            await client.close()
        }
        defer { watcher.cancel() }
        while await process.poll() == nil, self.number < 20 {
            do {
                try await self.write(client)
            } catch let error as NestError {
                guard [.outcomeUnknown, .connectionLost, .unreachable, .closed].contains(error.code) else {
                    throw error
                }
                break
            }
        }
        // The server may reach the failpoint only during its shutdown.
        await process.send(signal: SIGTERM)
        let end = try await process.waitForEnd()
        await client.close()
        return end
    }

    private func write(_ client: NestClient) async throws {
        self.number += 1
        let title = "w\(self.number) " + String(repeating: "x", count: 300)
        let key = Identifier128(high: 99, low: UInt64(self.number))
        self.doubtful = (title, key)
        let receipt = try await client.transaction(Self.transaction(title, key))
        self.doubtful = nil
        self.acknowledged[try #require(receipt.firstInserted)] = title
        self.head = receipt.revision
        guard self.number.isMultiple(of: 4) else { return }
        // A large import and its undo: a part of it must never be visible.
        var rows: [SubtreeRow]? = (0..<3_500).map {
            SubtreeRow(depth: min($0, 1), id: nil, values: [.string("row \($0)")])
        }
        let request = SubtreeImport(
            entity: Item.entity,
            placement: Placement(relationship: Item.parent, owner: .object(Item.root), place: .last),
            properties: [Item.title]
        )
        self.head = try await client.importSubtree(request) { rows.take() }.revision
        self.head = try await client.undo().revision
    }

    private static func transaction(_ title: String, _ key: Identifier128) -> WriteTransaction {
        var transaction = WriteTransaction(mutations: [Item.insert(title, under: Item.root)])
        transaction.key = key
        return transaction
    }

    /// Returns the faults of the current state.
    func faults() async throws -> [String] {
        let client = await self.client()
        defer { Task { await client.close() } }
        if let doubtful {
            // Executed before or not: a retry with the same key executes it once.
            let receipt = try await client.transaction(Self.transaction(doubtful.title, doubtful.key))
            self.acknowledged[try #require(receipt.firstInserted)] = doubtful.title
        }
        let state = try await client.fetch(Item.childrenOf(Item.root))
        var faults: [String] = []
        if state.revision < self.head { faults.append("\(state.revision) is before \(self.head)") }
        // The import may be durable without its undo.
        var titles = state.titles
        let imported = titles.filter { $0.value.hasPrefix("row ") }
        if imported.count > 1 { faults.append("\(imported.count) imports") }
        for id in imported.keys { titles[id] = nil }
        if titles != self.acknowledged {
            faults.append("\(titles.count) objects are stored, \(self.acknowledged.count) were acknowledged")
        }
        let report = try await client.check()
        faults += report.problems
        // The undo stacks are usable.
        if !titles.isEmpty {
            _ = try await client.undo()
            _ = try await client.redo()
        }
        return faults
    }
}
