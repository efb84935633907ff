import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc model apply`, beside a client that follows a list.
    @Suite struct ApplyModelCommands {
        private static func model(_ attributes: String) -> String {
            #"{"entities": [{"name": "User", "attributes": [\#(attributes)], "indexes": [["name"]]}]}"#
        }

        private static let name = #"{"name": "name", "type": "string"}"#
        private static let mail = #"{"name": "mail", "type": "string", "default": "none"}"#

        private static func write(_ text: String, _ server: ServerProcess, _ name: String) async throws -> String {
            let path = "\(server.directory.path)/\(name)"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        @Test func aListGoesOn() async throws {
            let server = try await ServerProcess.started(model: Self.model(Self.name))
            let user = await CommandLineUser(server)
            try await user.output("insert", "User", "name=Ann")
            let follower = try user.start("subscribe", "--entity", "User", "--json")
            _ = try await follower.lines(atLeast: 1)
            let new = try await Self.write(Self.model("\(Self.name), \(Self.mail)"), server, "new.json")

            let tried = try await user.output("model", "apply", new, "--dry-run")
            #expect(
                tried == "live     User.mail is new\nthe server could have this model: 1 row to write or index\n",
                "\(tried)"
            )
            #expect(try await !user.output("model", "show").contains("mail"))
            let applied = try await user.output("model", "apply", new)
            #expect(
                applied == "live     User.mail is new\nthe server has this model now: 1 row written or indexed\n",
                "\(applied)"
            )
            try await user.output("insert", "User", "name=Bob", "mail=b@example.org")
            let lines = try await follower.lines(atLeast: 2).joined(separator: "\n")
            #expect(lines.contains("Bob") && !lines.contains("disconnected"), "\(lines)")
            let rows = try await user.output(
                "fetch",
                "--entity",
                "User",
                "--where",
                "mail == 'none'",
                "--properties",
                "name"
            )
            #expect(rows.contains("Ann") && !rows.contains("Bob"), "\(rows)")

            // nestd with the older file keeps the newer model, and says so.
            try await server.terminate()
            try await server.start()
            #expect(try await user.output("model", "show").contains("mail"))
        }

        @Test func aModelBeginsWithoutEntities() async throws {
            let server = try await ServerProcess.started(model: #"{"entities": []}"#)
            let user = await CommandLineUser(server)
            #expect(try await user.run("fetch", "--entity", "User").status != 0)
            #expect(try await user.run("insert", "User", "name=Ann").status != 0)
            #expect(try await user.run("check").status == 0)
            #expect(try await user.output("model", "show") == "the model has no entity yet\n")
            let new = try await Self.write(Self.model(Self.name), server, "new.json")
            let applied = try await user.output("model", "apply", new).split(separator: "\n")
            #expect(
                applied == [
                    "live     the entity User is new", "the server has this model now: 0 rows written or indexed",
                ]
            )
            try await user.output("insert", "User", "name=Ann")
            #expect(try await user.output("fetch", "--entity", "User").contains("Ann"))
            try await server.terminate()
            try await server.start()
            #expect(try await user.output("fetch", "--entity", "User").contains("Ann"))
        }

        @Test func whatIsNotLiveIsListed() async throws {
            let server = try await ServerProcess.started(model: Self.model("\(Self.name), \(Self.mail)"))
            let user = await CommandLineUser(server)
            let fewer = try await Self.write(Self.model(Self.name), server, "fewer.json")
            let tried = try await user.run("model", "apply", fewer, "--dry-run")
            #expect(tried.status == 1 && tried.output == "refused  User.mail is gone: it removes something\n")
            #expect(tried.errors.contains("nestd migrate"), "\(tried.report)")
            let refused = try await user.run("model", "apply", fewer)
            #expect(refused.status == 1 && refused.errors.contains("[CONFLICT]"), "\(refused.report)")
            let same = try await user.output("model", "apply", "-", input: Self.model("\(Self.name), \(Self.mail)"))
            #expect(same == "the server has this model already\n")
        }
    }
}
