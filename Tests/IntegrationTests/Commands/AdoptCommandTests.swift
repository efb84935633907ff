import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// A store of Core Data becomes one of nest, and is served.
    @Suite struct AdoptCommands {
        private let directory = TemporaryDirectory()
        private static let example = Repository.root.appending(path: "Examples/number-facts").path
        private static let model = "\(Self.example)/NumberFacts.xcdatamodeld"
        private var source: String { "\(self.directory.path)/App.sqlite" }

        private func nestd(_ arguments: [String], environment: [String: String] = [:]) async throws
            -> CommandLineUser.Result
        {
            try await CommandLineUser.Result(ChildProcess(Program.nestd, arguments, environment: environment))
        }

        /// Adopts the example's store, changed by SQL.
        private func adopt(
            _ store: String,
            _ arguments: [String] = [],
            changed sql: [String] = [],
            environment: [String: String] = [:]
        ) async throws -> CommandLineUser.Result {
            FileBytes.write(FileBytes.read("\(Self.example)/NumberFacts.sqlite"), to: self.source)
            let file = try SQLiteFile(self.source)
            for sql in sql { try file.run(sql) }
            file.close()
            return try await self.nestd(
                ["adopt", self.source, "--model", Self.model, "--store", store] + arguments,
                environment: environment
            )
        }

        private func files(_ prefix: String, _ directory: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix(prefix) }.sorted()
        }

        @Test func anAdoptedStoreIsServedAndGoesOn() async throws {
            let server = ServerProcess(arguments: ["--model", Self.model])
            let result = try await self.adopt(server.storePath)
            #expect(result.status == 0 && result.errors == "", "\(result.report)")
            #expect(result.output.hasSuffix("6 objects adopted into \(server.storePath)\n"), "\(result.report)")
            try await server.start()
            let user = await CommandLineUser(server)
            let posts = try await user.output(
                "fetch",
                "--entity",
                "Post",
                "--properties",
                "title,user.name",
                "--sort",
                "number",
                "--json"
            )
            let titles = posts.matches(of: /"title":"([^"]*)"/).map { String($0.1) }
            #expect(titles == ["Below freezing", "Half of a half", "Bits in a byte", "Seconds of a day"], "\(posts)")
            let added = try await user.output("insert", "User", "name=Mia")
            #expect(added == "10\n")
            #expect(try await user.run("undo").status == 0)
            #expect(try await user.run("undo").status != 0, "the adoption is no write that can be undone")
            try await user.output("check", "--quiet")
            try await server.terminate()
            let again = try await self.adopt(server.storePath)
            #expect(
                again.status == 73 && again.errors.contains("give --store the name of a new file"),
                "\(again.report)"
            )
        }

        @Test func theReportIsOneObjectInJSON() async throws {
            let store = "\(self.directory.path)/nest.sqlite"
            let dry = try await self.adopt(store, ["--dry-run", "--json"])
            #expect(
                dry.status == 0
                    && dry.output.hasPrefix(#"{"dangling":[],"entities":[{"count":4,"idOffset":0,"name":"Post"}"#)
            )
            #expect(dry.output.contains(#""outcome":"possible""#) && dry.output.split(separator: "\n").count == 1)
            let refused = try await self.adopt(store, ["--json"], changed: ["DELETE FROM ZUSER WHERE Z_PK = 3"])
            #expect(refused.status == 65 && refused.errors.contains("nothing was written"), "\(refused.report)")
            #expect(
                refused.output.contains(
                    #""refused":[{"count":2,"first":[2,6],"reason":"is required, but has no value","what":"Post.user"}]"#
                ),
                "\(refused.report)"
            )
            #expect(try self.files("nest", self.directory.path) == ["nest.sqlite.lock"])
        }

        @Test func wrongArgumentsHaveTheirOwnStatus() async throws {
            let store = "\(self.directory.path)/nest.sqlite"
            let missing = try await self.nestd(["adopt", "\(store)-none", "--model", Self.model, "--store", store])
            #expect(missing.status == 66 && missing.errors.contains("there is no file"), "\(missing.report)")
            let version = try await self.adopt(store, ["--version", "Facts 2"])
            #expect(
                version.status == 78 && version.errors.contains("its versions are: NumberFacts"),
                "\(version.report)"
            )
            let model = try await self.nestd(["adopt", self.source, "--model", "\(store)-none", "--store", store])
            #expect(model.status == 78 && model.errors.contains("there is no such file"), "\(model.report)")
            #expect(try await self.nestd(["adopt", self.source]).status == 64)
            let other = try await self.adopt(store, changed: ["ALTER TABLE ZPOST RENAME COLUMN ZTITLE TO ZNAME"])
            #expect(
                other.status == 78 && other.errors.contains("ZPOST has no column ZTITLE for Post.title"),
                "\(other.report)"
            )
            let server = ServerProcess(arguments: ["--model", Self.model])
            try await server.start()
            #expect(try await self.adopt(server.storePath).status == 75)
        }

        #if DEBUG
        @Test func aKilledAdoptionLeavesNoStore() async throws {
            let store = "\(self.directory.path)/nest.sqlite"
            let process = try ChildProcess(
                Program.nestd,
                ["adopt", "\(Self.example)/NumberFacts.sqlite", "--model", Self.model, "--store", store],
                environment: ["NEST_FAILPOINTS": "adoption.written=1"]
            )
            let killed = try await CommandLineUser.Result(process)
            #expect(killed.status != 0 && killed.output == "", "\(killed.report)")
            #expect(try self.files("nest", self.directory.path) == ["nest.sqlite.being-made", "nest.sqlite.lock"])
            #expect(try await self.adopt(store).status == 0)
            #expect(try self.files("nest", self.directory.path) == ["nest.sqlite", "nest.sqlite.lock"])
        }
        #endif

        @Test(arguments: [80, 100]) func helpFitsTheTerminal(_ columns: Int) async throws {
            let help = try await self.nestd(["adopt", "--help"], environment: ["COLUMNS": "\(columns)"])
            #expect(help.status == 0 && help.output.contains("nestd adopt Shop.sqlite"))
            let long = help.output.split(separator: "\n").filter { $0.count > columns }
            #expect(long.isEmpty, "\(long)")
        }
    }
}
