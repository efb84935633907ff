import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestd cluster …`, and the settings of a node.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterCommandTests {
        /// A single store becomes a cluster with its objects, and a node's file becomes a single store again.
        @Test func aStoreEntersAndLeaves() async throws {
            let single = try await ServerProcess.started()
            try await single.insert("one")
            try await single.terminate()
            let world = try await ClusterWorld.begun(initial: ["--store", single.storePath])
            let again = try await world.nestd(["cluster", "init", "--store", single.storePath])
            #expect(again.status == 78 && again.errors.contains("already"), "\(again.report)")

            let alone = try await world.nestd(["--store", single.storePath, "--port", "0"], withLog: false)
            #expect(alone.status == 78, "\(alone.report)")
            #expect(alone.errors.contains("belongs to a cluster: start nestd with --log"), "\(alone.errors)")

            // The file goes on as a node's, without a snapshot.
            let arguments = ["--log", world.url, "--node", "a", "--store", single.storePath]
            let port = Int.random(in: 12_000..<32_000)
            let node = try ChildProcess(Program.nestd, arguments + ["--port", "\(port)"])
            #expect(try await node.lines(atLeast: 1)[0].hasSuffix(", revision 1, node a"))
            #expect(!node.errors.contains("cluster.joined"))
            let other = try await world.started("b")
            try await other.shows(["one"])
            try await world.leader()
            await node.send(signal: SIGTERM)
            try await node.wait(forEnd: .exit(0))
            try await other.terminate()

            let left = try await world.nestd(
                ["cluster", "leave", "--store", single.storePath, "--json"],
                withLog: false
            )
            #expect(left.status == 0 && left.output.contains(#""history":""#), "\(left.report)")
            let repeated = try await world.nestd(["cluster", "leave", "--store", single.storePath], withLog: false)
            #expect(repeated.status == 0 && repeated.output.contains("nothing to do"), "\(repeated.report)")
            try await single.start()
            try await single.shows(["one"])
            try await single.terminate()
        }

        /// A node that cannot be one says what to do.
        @Test func aNodeThatCannotBeOneIsRefused() async throws {
            let world = try await ClusterWorld.begun(initial: nil)
            let directory = TemporaryDirectory()
            let store = "\(directory.path)/nest.sqlite"
            let missing = try await world.nestd(["--store", store, "--port", "0"])
            #expect(missing.status == 78 && missing.errors.contains("nestd cluster init"), "\(missing.report)")
            #expect(!FileManager.default.fileExists(atPath: store))

            let single = try await ServerProcess.started()
            try await single.terminate()
            let made = try await world.nestd(["cluster", "init", "--json"])
            #expect(made.status == 0 && made.output.contains(#""store":"default""#), "\(made.report)")
            let twice = try await world.nestd(["cluster", "init"])
            #expect(twice.status == 78 && twice.errors.contains("already"), "\(twice.report)")
            let foreign = try await world.nestd(["--store", single.storePath, "--port", "0"])
            #expect(foreign.status == 78 && foreign.errors.contains("belongs to no cluster"), "\(foreign.report)")

            let model = "\(directory.path)/model.json"
            try Data(PeopleModel.json.utf8).write(to: URL(filePath: model))
            let other = try await world.nestd(["--store", store, "--model", model, "--port", "0"])
            #expect(other.status == 78 && other.errors.contains("nestd cluster migrate"), "\(other.report)")

            let faults = [
                (["--host", "0.0.0.0", "--insecure"], "--advertise"),
                (["--advertise", "somewhere"], "must be a host and a port"),
            ]
            for (arguments, text) in faults {
                let refused = try await world.nestd(arguments + ["--check-config"])
                #expect(refused.status == 78 && refused.errors.contains(text), "\(refused.report)")
            }
            let alone = try await world.nestd(["--node", "a", "--check-config"], withLog: false)
            #expect(alone.status == 78 && alone.errors.contains("--node needs --log"), "\(alone.report)")
        }

        @Test func aNodeThatDoesNotComeBackIsForgotten() async throws {
            let world = try await ClusterWorld.begun()
            let node = try await world.started("a")
            try await world.leader()
            let unknown = try await world.nestd(["cluster", "forget", "b"])
            #expect(unknown.status == 66, "\(unknown.report)")
            try await node.killNow()
            #expect(try await world.sql("SELECT count(*) FROM nest.node") == "1")
            let known = try await world.nestd(["cluster", "forget", "a"])
            #expect(known.status == 0 && known.output == "a is forgotten\n", "\(known.report)")
            #expect(try await world.sql("SELECT count(*) FROM nest.node") == "0")
        }

        private static func model(_ attributes: String...) -> String {
            let list = attributes.map { "{\"name\": \"\($0)\", \"type\": \"string\", \"optional\": true}" }
            return """
                {"format": "nest-model", "entities": [{"name": "User", "attributes": [\(list.joined(separator: ", "))]}]}
                """
        }

        /// All nodes get another model while they run, on the same ports, and with what they had.
        @Test func theModelOfAClusterIsMigratedWhileItRuns() async throws {
            let directory = TemporaryDirectory()
            func file(_ name: String, _ text: String) throws -> String {
                try Data(text.utf8).write(to: URL(filePath: "\(directory.path)/\(name)"))
                return "\(directory.path)/\(name)"
            }
            let world = try await ClusterWorld.begun(initial: ["--model", try file("1.json", Self.model("name"))])
            let nodes = ["a": try await world.started("a"), "b": try await world.started("b")]
            let leader = try await world.leader(among: nodes)
            let user = await CommandLineUser(leader)
            try await user.output("insert", "User", "name=Ann")
            let wider = try file("2.json", Self.model("name", "mail"))
            let narrow = try file("3.json", Self.model("mail"))

            let dry = try await world.nestd(["cluster", "migrate", "--model", wider, "--dry-run"])
            #expect(dry.status == 0 && dry.output.contains("1 object would be rewritten"), "\(dry.report)")
            let refused = try await world.nestd(["cluster", "migrate", "--model", narrow])
            #expect(refused.status == 78 && refused.errors.contains("it would lose data"), "\(refused.report)")
            let migrated = try await world.nestd(["cluster", "migrate", "--model", wider])
            #expect(migrated.status == 0 && migrated.output.contains("is migrated"), "\(migrated.report)")
            for node in nodes.values { try await node.log(contains: "cluster.reopening") }
            let next = try await world.leader(after: "nestd cluster migrate")
            let other = await CommandLineUser(try #require(nodes[next]))
            _ = try await waitFor("the new model") {
                try await other.run("insert", "User", "name=Bob", "mail=bob@example.org").status == 0 ? true : nil
            }
            for node in nodes.values {
                let user = await CommandLineUser(node)
                _ = try await waitFor("both users") {
                    let listed = try await user.run("fetch", "--entity", "User", "--json")
                    return listed.output.contains("bob@example.org") && listed.output.contains("Ann") ? true : nil
                }
            }
            let same = try await world.nestd(["cluster", "migrate", "--model", wider])
            #expect(same.status == 0 && same.output.contains("has this model already"), "\(same.report)")
            for node in nodes.values { try await node.terminate() }
        }
    }
}
