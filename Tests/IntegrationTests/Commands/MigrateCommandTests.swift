import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// Stores of Core Data models, and what `nestd migrate` does to them.
    @Suite struct MigrateCommands {
        private let directory = TemporaryDirectory()
        private var link: String { "\(self.directory.path)/model" }

        /// Makes the server's model one of the fixtures.
        private func choose(_ name: String) throws {
            let path = Repository.root.appending(path: "Tests/Fixtures/Models/\(name)").path
            try? FileManager.default.removeItem(atPath: self.link)
            try FileManager.default.createSymbolicLink(atPath: self.link, withDestinationPath: path)
        }

        private func started(_ name: String) async throws -> (
            server: ServerProcess, user: CommandLineUser
        ) {
            try self.choose(name)
            let server = ServerProcess(arguments: ["--model", self.link])
            try await server.start()
            return (server, await CommandLineUser(server))
        }

        private func nestd(_ arguments: [String]) async throws -> CommandLineUser.Result {
            try await CommandLineUser.Result(ChildProcess(Program.nestd, arguments))
        }

        private func migrate(_ server: ServerProcess, _ arguments: String...) async throws
            -> CommandLineUser.Result
        {
            try await self.nestd(
                ["migrate", "--store", server.storePath, "--model", self.link] + arguments
            )
        }

        private func id(_ text: String) -> String {
            text.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// Two tags of a recipe with a step.
        private func insertRecipe(_ user: CommandLineUser) async throws -> String {
            let recipe = self.id(try await user.output("insert", "Recipe", "title=Soup"))
            try await user.output("insert", "Step", "text=boil", "recipe=\(recipe)")
            for name in ["hot", "good"] {
                let tag = self.id(try await user.output("insert", "Tag", "name=\(name)"))
                try await user.output("relate", recipe, "tags", tag)
            }
            return recipe
        }

        @Test func aLossIsRefusedUntilItIsAllowed() async throws {
            let (server, user) = try await self.started("Recipes.xcdatamodeld")
            let recipe = try await self.insertRecipe(user)
            #expect(try await user.output("show", recipe).contains("isPublic     yes"))
            try await server.terminate()
            let before = try Data(contentsOf: URL(filePath: server.storePath))

            try self.choose("Recipes.xcdatamodeld/Recipes 2.xcdatamodel")
            let start = try await self.nestd([
                "--port", "0", "--store", server.storePath, "--model", self.link,
            ])
            #expect(start.status == 78)
            for words in [
                "would lose data in a migration", "the entity Tag is gone, with 2 objects",
                "Recipe.tags is gone, with 2 links",
                "nestd migrate --store \(server.storePath) --model \(self.link) --dry-run",
                "--allow-loss",
            ] {
                #expect(start.errors.contains(words), "\(words): \(start.report)")
            }
            let dry = try await self.migrate(server, "--dry-run")
            #expect(
                dry.status == 78
                    && dry.errors.contains("the migration would be refused: it would lose data")
            )
            let removed = """
                removed  Recipe.key is gone, with 0 values
                removed  Recipe.tags is gone, with 2 links
                removed  the entity Tag is gone, with 2 objects

                """
            #expect(dry.output == removed + "1 object would be rewritten\n", "\(dry.report)")
            let refused = try await self.migrate(server)
            #expect(
                refused.status == 78 && refused.errors.contains("nothing was changed"),
                "\(refused.report)"
            )
            let possible = try await self.migrate(server, "--dry-run", "--allow-loss", "--json")
            #expect(possible.status == 0, "\(possible.report)")
            #expect(
                possible.output.contains(#""outcome":"possible""#)
                    && possible.output.contains(#""rewrittenObjects":1"#)
            )
            #expect(
                possible.output.contains(#"{"count":2,"unit":"objects","what":"the entity Tag is gone"}"#)
            )
            #expect(
                try Data(contentsOf: URL(filePath: server.storePath)) == before,
                "nothing was changed"
            )
            let files = try FileManager.default.contentsOfDirectory(atPath: server.directory.path)
            #expect(files.filter { $0.hasPrefix("nest.sqlite") }.sorted() == ["nest.sqlite", "nest.sqlite.lock"])

            let done = try await self.migrate(server, "--allow-loss")
            let copy = "\(server.storePath).before-migration-6"
            #expect(done.status == 0, "\(done.report)")
            #expect(
                done.output == removed + "\(server.storePath) is migrated: 1 object rewritten\n"
                    + "the store as it was: \(copy)\n"
            )
            #expect(
                try await self.migrate(server).output == "\(server.storePath) has this model already\n"
            )
            #expect(try await self.nestd(["--check", "--store", server.storePath]).status == 0)

            // What was done to tags cannot be undone any more; the rest can.
            try await server.start()
            #expect(try await user.output("show", recipe).contains("Soup"))
            for _ in 0..<4 { #expect(try await user.run("undo").status == 80) }
            #expect(try await user.run("undo").status == 0)
            #expect(try await user.run("undo").status == 0)
            #expect(try await user.run("show", recipe).errors.contains("NOT_FOUND"))
            try await server.terminate()

            // The copy has the store as it was.
            try self.choose("Recipes.xcdatamodeld")
            let old = ServerProcess(arguments: ["--model", self.link])
            try FileManager.default.copyItem(atPath: copy, toPath: old.storePath)
            try await old.start()
            let list = try await CommandLineUser(old).output("fetch", "--entity", "Tag")
            #expect(list.contains("hot") && list.contains("good"))
        }

        @Test func aMigrationNeedsAStoreThatNoServerHasOpenAndAValidModel() async throws {
            let (server, _) = try await self.started("Recipes.xcdatamodeld")
            #expect(try await self.migrate(server, "--dry-run").status == 75)
            try await server.terminate()
            let missing = try await self.nestd([
                "migrate", "--store", "\(self.link).sqlite", "--model", self.link,
            ])
            #expect(missing.status == 66 && missing.errors.contains("there is no store"))
            try self.choose("TwoVersions.xcdatamodeld")
            let unnamed = try await self.migrate(server)
            #expect(
                unnamed.status == 78 && unnamed.errors.contains("specify one of One.xcdatamodel"),
                "\(unnamed.report)"
            )
            #expect(try await self.nestd(["migrate", "--store", server.storePath]).status == 64)
            // Without a model nestd does not put the nested list in the place of another model, even an empty one.
            let start = try await self.nestd(["--port", "0", "--store", server.storePath])
            #expect(
                start.status == 78 && start.errors.contains("specify another with --model"),
                "\(start.report)"
            )
        }

        @Test func requiredToManyRelationshipsStartEmpty() async throws {
            let (server, user) = try await self.started("Notebooks.xcdatamodeld")
            let notebook = self.id(try await user.output("insert", "Notebook", "title=Work"))
            let reader = try await user.run("insert", "Reader", "name=Ann")
            #expect(
                reader.status != 0 && reader.errors.contains("Reader.notebooks must refer to at least 1")
            )
            try await user.output("insert", "Page", "text=one", "notebook=\(notebook)")
            #expect(try await user.output("show", notebook).contains("readers   0"))
            try await server.terminate()
        }

        @Test func oneWayRelationshipsServeTheirAppsAndGetInverses() async throws {
            let (server, user) = try await self.started("Music.xcdatamodeld")
            let songs = try await [
                user.output("insert", "Song", "title=One"), user.output("insert", "Song", "title=Two"),
            ].map { self.id($0) }
            let list = self.id(
                try await user.output(
                    "insert",
                    "Playlist",
                    "name=Mix",
                    "first=\(songs[0])",
                    "cover=\(songs[1])"
                )
            )
            try await user.output("relate", list, "songs", songs[1], songs[0])
            try await user.output("set", songs[0], "original=\(songs[1])")
            try await user.output("set", songs[1], "original=\(songs[0])")
            #expect(try await !user.output("show", songs[0]).contains("nest_inverse"))
            #expect(try await !user.output("show", songs[0], "--json").contains("nest_inverse"))
            let shown = try await user.output("fetch", "--of", list, "--relationship", "songs")
            let rows = shown.split(separator: "\n")
            #expect(rows.count == 2 && rows[0].hasPrefix("\(songs[1])\tTwo") && rows[1].hasPrefix("\(songs[0])\tOne"))
            #expect(try await user.output("model", "show").contains("hidden inverse"))
            try await server.terminate()

            try self.choose("Music.xcdatamodeld/Music 2.xcdatamodel")
            try await server.start()
            let lists = try await user.output("fetch", "--of", songs[1], "--relationship", "playlists")
            #expect(lists.hasPrefix("\(list)\tMix"))
            try await user.output("rm", songs[1])
            #expect(try await user.output("show", list).contains("cover       -"))
            let refused = try await user.run("rm", songs[0])
            #expect(refused.status != 0 && refused.errors.contains("Playlist.first"), "\(refused.report)")
        }
    }
}
