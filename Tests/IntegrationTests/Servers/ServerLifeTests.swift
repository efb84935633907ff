import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing
import NestSchema

extension ProcessTests {
    /// Starting and stopping `nestd`, and its messages when it cannot start.
    @Suite struct ServerLife {
        private func run(_ arguments: String...) async throws -> (end: ChildProcess.End, output: String, errors: String)
        {
            let process = try ChildProcess(Program.nestd, arguments)
            let end = try await process.waitForEnd()
            return (end, process.output, process.errors)
        }

        @Test func aStoreInUseIsRefusedWithTheOwnersProcessID() async throws {
            let server = try await ServerProcess.started()
            let pid = try #require(await server.process?.pid)
            let second = try await self.run("--port", "0", "--store", server.storePath)
            #expect(second.end == .exit(75), "\(second)")
            #expect(
                second.errors.contains("the store \(server.storePath) is in use by the process \(pid)"),
                "\(second)"
            )
            #expect(second.output == "")

            // The same holds for another name of the same file.
            let link = "\(server.directory.path)/link.sqlite"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: server.storePath)
            let third = try await self.run("--port", "0", "--store", link)
            #expect(third.end == .exit(75), "\(third)")

            // The lock ends with the process, however it ends; the remaining lock file has no effect.
            try await server.restart()
            let user = await CommandLineUser(server)
            try await user.output("ping", "--quiet")
        }

        @Test func aFreePortIsChosenAndPrinted() async throws {
            let process = try ChildProcess(Program.nestd, ["--port", "0", "--memory"])
            let line = try await process.lines(atLeast: 1)[0]
            let match = try #require(
                line.wholeMatch(
                    of: /nestd listens on 127\.0\.0\.1:([0-9]+), store in memory, history [0-9a-f]{32}, revision 0/
                )
            )
            let client = NestClient(ClientConfiguration(port: try #require(Int(match.1)), session: .fresh))
            #expect(try await client.ping() > .zero)
            await client.close()
            await process.send(signal: SIGINT)
            try await process.wait(forEnd: .exit(0))
        }

        @Test func aPortInUseIsRefused() async throws {
            let server = try await ServerProcess.started()
            let other = ServerProcess()
            let port = await server.port
            let result = try await self.run("--port", "\(port)", "--store", other.storePath)
            #expect(result.end == .exit(69), "\(result)")
            #expect(result.errors.contains("port \(port) of 127.0.0.1 is in use"), "\(result)")
        }

        @Test func aFileThatIsNotAStoreIsRefusedAndUnchanged() async throws {
            for content in ["a text file, and no store", "SQLite format 3\0 but nothing that it should be"] {
                let directory = TemporaryDirectory()
                let path = "\(directory.path)/notes.txt"
                try Data(content.utf8).write(to: URL(filePath: path))
                let result = try await self.run("--port", "0", "--store", path)
                #expect(result.end == .exit(65), "\(result)")
                #expect(result.errors.contains(path), "\(result)")
                #expect(FileManager.default.contents(atPath: path) == Data(content.utf8))
                #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
            }
        }

        @Test func aNonLoopbackHostNeedsInsecure() async throws {
            let result = try await self.run("--host", "0.0.0.0", "--port", "0", "--memory")
            #expect(result.end == .exit(78), "\(result)")
            #expect(result.errors.contains("--insecure"), "\(result)")
            #expect(result.output == "")

            let open = try ChildProcess(Program.nestd, ["--host", "0.0.0.0", "--port", "0", "--memory", "--insecure"])
            #expect(try await open.lines(atLeast: 1)[0].hasPrefix("nestd listens on 0.0.0.0:"))
        }

        @Test func invalidFlagsExitWithUsageStatus() async throws {
            #expect(try await self.run("--port", "70000").end == .exit(64))
            #expect(try await self.run("--memory", "--store", "x.sqlite").end == .exit(64))
            #expect(try await self.run("--nonsense").end == .exit(64))
        }

        @Test func aMissingDirectoryIsReported() async throws {
            let directory = TemporaryDirectory()
            let result = try await self.run("--port", "0", "--store", "\(directory.path)/missing/nest.sqlite")
            #expect(result.end == .exit(78), "\(result)")
            #expect(result.errors.contains("there is no directory \(directory.path)/missing"), "\(result)")
        }

        /// SIGTERM under load: the server exits with 0, and every request is either acknowledged or refused as not
        /// executed. The store agrees with the replies.
        @Test func sigtermUnderLoadLeavesNoOutcomeUnknown() async throws {
            let server = try await ServerProcess.started()
            let configurations = [await server.configuration(requestTimeout: .seconds(3))]
            let progress = ProgressCounter()
            let outcomes = try await withThrowingTaskGroup(of: [Outcome].self) { group in
                for writer in 0..<4 {
                    let client = NestClient(configurations[0])
                    group.addTask {
                        var outcomes: [Outcome] = []
                        // Eight at a time, so that requests wait at every stage.
                        while outcomes.allSatisfy({ $0.isAcknowledged }) {
                            outcomes += await withTaskGroup(of: Outcome.self) { requests in
                                for number in 0..<8 {
                                    let title = "w\(writer) \(outcomes.count + number)"
                                    requests.addTask { await Outcome(of: title, client, progress) }
                                }
                                return await requests.reduce(into: []) { $0.append($1) }
                            }
                        }
                        await client.close()
                        return outcomes
                    }
                }
                try await progress.wait(for: 200)
                try await server.terminate()
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let acknowledged = Set(outcomes.filter(\.isAcknowledged).map(\.title))
            let refused = outcomes.filter { !$0.isAcknowledged }
            #expect(refused.allSatisfy { $0.isNotExecuted }, "\(refused)")

            try await server.start()
            let client = NestClient(await server.configuration())
            let snapshot = try await client.fetch(Item.childrenOf(Item.root))
            #expect(Set(snapshot.titles.values) == acknowledged)
            #expect(snapshot.total == acknowledged.count)
            await client.close()
        }

        private struct Outcome: CustomStringConvertible {
            let title: String
            let code: ErrorCode?

            var isAcknowledged: Bool { self.code == nil }
            /// Whether the request was never sent, or was refused before its execution.
            var isNotExecuted: Bool { [.unreachable, .connectionLost, .shuttingDown, .busy].contains(self.code) }
            var description: String { "\(self.title): \(self.code.map { "\($0)" } ?? "done")" }

            init(of title: String, _ client: NestClient, _ progress: ProgressCounter) async {
                self.title = title
                do throws(NestError) {
                    _ = try await client.transaction(
                        WriteTransaction(mutations: [Item.insert(title, under: Item.root)])
                    )
                    self.code = nil
                    await progress.add(1)
                } catch {
                    self.code = error.code
                }
            }
        }
    }
}
