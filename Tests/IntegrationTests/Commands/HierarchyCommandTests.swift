import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// `ls`, `tree`, `add` and `mv` with other entities than `Item`.
    @Suite struct HierarchyCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started(model: EntityOutlines.model)
            self.user = await CommandLineUser(self.server)
        }

        private func folder(_ name: String, in parent: String? = nil) async throws -> String {
            let values = ["name=\(name)", "created=2026-01-02T03:04:05Z"] + (parent.map { ["folder=\($0)"] } ?? [])
            return try await self.user.output(["insert", "Folder"] + values).trimmingCharacters(in: .newlines)
        }

        @Test func everyHierarchyIsListedAndShown() async throws {
            let docs = try await self.folder("Docs")
            let music = try await self.folder("Music")
            let letters = try await self.folder("Letters", in: docs)
            // Several roots: all objects without a parent.
            #expect(try await self.user.output("ls", "--entity", "Folder") == "\(docs)\tDocs\n\(music)\tMusic\n")
            // The entity of an object is that of the command.
            #expect(try await self.user.output("ls", docs) == "\(letters)\tLetters\n")
            #expect(
                try await self.user.output("tree", "--entity", "Folder")
                    == "Docs  #\(docs)\n  Letters  #\(letters)\nMusic  #\(music)\n"
            )
            #expect(try await self.user.output("tree", docs, "--depth", "0") == "Docs  #\(docs)\n")
            let several = try await self.user.run("tree")
            #expect(several.status == 64, "\(several.report)")
            #expect(several.errors.contains("specify --entity: Folder, Person"), "\(several.report)")
        }

        @Test func objectsOfEveryHierarchyAreAddedAndMoved() async throws {
            let ann = try await self.user.output("add", "Ann", "Bob", "--entity", "Person", "--relationship", "reports")
            #expect(ann == "1\n2\n")
            #expect(try await self.user.output("add", "Carla", "--parent", "1", "--relationship", "reports") == "3\n")
            #expect(
                try await self.user.output("add", "Dan", "--before", "3", "--relationship", "reports") == "4\n"
            )
            #expect(try await self.user.output("ls", "1", "--relationship", "reports") == "4\tDan\n3\tCarla\n")
            try await self.user.output("mv", "3", "--first", "--relationship", "reports")
            #expect(try await self.user.output("ls", "1", "--relationship", "reports") == "3\tCarla\n4\tDan\n")
            // Pupils have no order, so they have no positions.
            try await self.user.output("mv", "4", "--parent", "2", "--relationship", "pupils")
            #expect(try await self.user.output("ls", "2", "--relationship", "pupils") == "4\tDan\n")
            let position = try await self.user.run("mv", "4", "--first", "--relationship", "pupils")
            #expect(position.status == 1 && position.errors.contains("is not ordered"), "\(position.report)")
            let choice = try await self.user.run("ls", "1")
            #expect(choice.status == 64, "\(choice.report)")
            #expect(choice.errors.contains("specify --relationship: reports, pupils"), "\(choice.report)")
            let note = try await self.user.run("add", "x", "--parent", "1", "--relationship", "reports", "--note", "n")
            #expect(note.status == 64 && note.errors.contains("has no string attribute note"), "\(note.report)")
        }

        @Test func theRootIsNoRowOfItsEntity() async throws {
            let server = try await ServerProcess.started()
            let user = await CommandLineUser(server)
            try await user.output("add", "Milk", "Bread")
            try await user.output("add", "oat", "soy", "--parent", "2")
            let entity = ["--entity", "Item", "--properties", "title"]
            #expect(try await user.output(["fetch"] + entity) == "2\tMilk\n3\tBread\n4\toat\n5\tsoy\n")
            #expect(try await user.output(["fetch"] + entity + ["--with-root", "--count"]) == "5\n")
            #expect(try await user.output(["fetch"] + entity + ["--count"]) == "4\n")
            #expect(try await user.output(["fetch"] + entity + ["--where", "title == \"\""]) == "")
            let event = try await user.output(["subscribe", "--count", "1"] + entity)
            #expect(event.contains(#""total":4,"#) && !event.contains(#"{"id":1,"#), "\(event)")
            #expect(try await user.output("explain", "--entity", "Item").contains("SELF != 1"))
            // The children of an object include no root, whatever it is.
            #expect(try await user.output("fetch", "--of", "1", "--count") == "2\n")

            // The root of a confined token is its own.
            let directory = server.directory.path
            let root = "\(directory)/root.token"
            _ = try await user.run("token", "create", "root", "--role", "admin", "-o", root)
            let guest = "\(directory)/guest.token"
            _ = try await user.run("token", "create", "guest", "--root", "2", "-o", guest, "--token-file", root)
            #expect(try await user.output(["fetch", "--token-file", guest] + entity) == "4\toat\n5\tsoy\n")
        }
    }
}
