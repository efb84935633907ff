import Foundation
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestProtocol
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Clients that keep their session by default, with servers in this process. Each client is a run of the program.
    struct KeptSessionAgainstServerTests {
        private let directory = TemporaryDirectory()
        private let log = RecordedLog()

        private func configuration(_ port: Int, user: String = "") -> ClientConfiguration {
            var configuration = ClientConfiguration(port: port)
            configuration.sessionDirectory = "\(self.directory.path)/nest/clients"
            configuration.logger = self.log.logger
            configuration.user = user
            return configuration
        }

        private var files: [String] {
            (FileManager.default.subpaths(atPath: "\(self.directory.path)") ?? []).filter {
                var isDirectory: ObjCBool = false
                let path = "\(self.directory.path)/\($0)"
                return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
            }
        }

        @Test func theNextRunUndoesTheWorkOfThisOne() async throws {
            try await withServer { port, _ in
                #expect(self.configuration(port).session == .kept)
                try await NestClient.withClient(self.configuration(port)) { client in
                    _ = try await client.transaction(.insert("Milk"))
                    guard case .kept(let path) = await client.sessionKeeping else {
                        Issue.record("the session is not kept")
                        return
                    }
                    #expect(path.hasSuffix("/127.0.0.1_\(port)"))
                }
                try await NestClient.withClient(self.configuration(port)) { client in
                    #expect(try await client.undoState().undo != nil)
                    _ = try await client.undo()
                    #expect(try await client.fetch(.rootChildren).sections.flatMap(\.rows).isEmpty)
                }
                #expect(self.files.count == 1 && self.log.lines == [])
            }
        }

        @Test func aSecondClientOfTheProgramHasASessionOfItsOwn() async throws {
            try await withServer { port, _ in
                let (first, second) = (
                    NestClient(self.configuration(port)), NestClient(self.configuration(port))
                )
                try await first.connect()
                // The file is written behind the connection.
                guard case .kept = await first.sessionKeeping else {
                    Issue.record("the first client does not keep its session")
                    return
                }
                try await second.connect()
                _ = try await first.transaction(.insert("Milk"))
                #expect(await second.sessionKeeping == .inUse)
                #expect(try await second.session() != first.session())
                await #expect(throws: NestError.self) { _ = try await second.undo() }
                let session = try await first.session()
                await first.close()
                // `second` goes on with its own, and the next one has the kept one.
                let third = NestClient(self.configuration(port))
                #expect(try await third.session() == session)
                _ = try await third.undo()
                await third.close()
                await second.close()
                #expect(self.files.count == 1 && self.log.lines == [])
            }
        }

        @Test func serversAndUsersHaveSessionsOfTheirOwn() async throws {
            try await withServer { one, _ in
                try await withServer { other, _ in
                    var sessions: Set<Identifier128> = []
                    for configuration in [
                        self.configuration(one), self.configuration(other), self.configuration(one, user: "Ann"),
                    ] {
                        let session = try await NestClient.withClient(configuration) { try await $0.session() }
                        #expect(sessions.insert(session).inserted)
                    }
                    let again = try await NestClient.withClient(self.configuration(one)) { try await $0.session() }
                    #expect(sessions.contains(again) && self.files.count == 3)
                }
            }
        }

        @Test func aServerWithAnotherHistoryGetsAnotherSession() async throws {
            var first: (session: Identifier128, port: Int)?
            try await withServer { port, _ in
                let session = try await NestClient.withClient(self.configuration(port)) { client in
                    _ = try await client.transaction(.insert("Milk"))
                    return try await client.session()
                }
                first = (session, port)
            }
            let (session, port) = try #require(first)
            try await withServer { other, _ in
                // The file of the first server is at the address of the second one.
                let path = "\(self.directory.path)/\(try #require(self.files.first))"
                let moved = path.replacing("_\(port)", with: "_\(other)")
                try FileManager.default.moveItem(atPath: path, toPath: moved)
                let next = try await NestClient.withClient(self.configuration(other)) { client in
                    #expect(await client.sessionKeeping == .kept(path: moved))
                    _ = try await client.transaction(.insert("Bread"))
                    return try await client.session()
                }
                #expect(next != session)
                try await NestClient.withClient(self.configuration(other)) { client in
                    #expect(try await client.session() == next)
                    _ = try await client.undo()
                }
                #expect(self.log.lines == [])
            }
        }

        @Test func withoutADirectoryTheClientWorksAndSaysWhy() async throws {
            try await withServer { port, _ in
                var configuration = self.configuration(port)
                configuration.sessionDirectory = "/dev/null/clients"
                for _ in 0..<2 {
                    try await NestClient.withClient(configuration) { client in
                        _ = try await client.transaction(.insert("Milk"))
                        while await client.sessionKeeping == .undecided { await Task.yield() }
                        guard case .impossible(let reason) = await client.sessionKeeping else {
                            Issue.record("the session is kept in /dev/null")
                            return
                        }
                        #expect(reason.contains("/dev/null"))
                        _ = try await client.undo()
                    }
                }
                #expect(self.log.lines.count == 1, "\(self.log.lines)")
            }
        }

        @Test func aFreshSessionWritesNothing() async throws {
            try await withServer { port, _ in
                var configuration = self.configuration(port)
                configuration.session = .fresh
                for _ in 0..<2 {
                    try await NestClient.withClient(configuration) { client in
                        #expect(await client.sessionKeeping == .notAsked)
                        #expect(try await client.undoState().undo == nil)
                        _ = try await client.transaction(.insert("Milk"))
                    }
                }
                #expect(self.files == [])
            }
        }

        /// Nothing is written for a server that does not answer.
        @Test func aServerThatIsNotThereGetsNoFile() async throws {
            let client = NestClient(self.configuration(1))
            await #expect(throws: NestError.self) { try await client.connect() }
            await client.close()
            #expect(self.files == [] && self.log.lines == [])
        }

        /// The session stays when the server gets another history while the client runs, and the file has the history.
        @Test func theSessionOfARunStays() async throws {
            let sessions = NIOLockedValueBox<[Identifier128]>([])
            try await FakeServer.run { connection in
                let hello = try await connection.welcome(history: connection.number < 1 ? 1 : 2)
                sessions.withLockedValue { $0.append(hello.session) }
                if connection.number == 0 { return }
                await connection.untilClosed()
            } client: { port in
                let client = NestClient(self.configuration(port))
                let session = try await client.session()
                while await client.server?.historyID.low != 2 { try await Task.sleep(for: .milliseconds(2)) }
                #expect(try await client.session() == session)
                await client.close()
                let text = try String(contentsOfFile: "\(self.directory.path)/\(self.files[0])", encoding: .utf8)
                #expect(SessionRecord(text: text)?.history.low == 2 && SessionRecord(text: text)?.session == session)
            }
            let sent = sessions.withLockedValue { $0 }
            #expect(sent.count == 2 && Set(sent).count == 1)
        }
    }
}
