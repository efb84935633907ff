import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc cp` within a server and between servers.
    @Suite struct CopyCommands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        private static let lines = #"""
            {"depth":0,"title":"List","note":"n","extra":{"a":"1"}}
            {"depth":1,"title":"Milk","done":true}
            {"depth":2,"title":"Oat"}
            {"depth":1,"title":"Bread"}
            """#

        @Test func copiesWithinAServer() async throws {
            #expect(try await self.user.run("import", "-", "--format", "jsonl", input: Self.lines).status == 0)
            // A subtree can be copied below itself: the copy is the state of one revision.
            #expect(try await self.user.output("cp", "2", "2", "--first") == "copied 4 items, ids 6 to 9, revision 2\n")
            #expect(
                try await self.user.output("cp", "3", "1", "--below", "--name", "just oat", "--json")
                    == #"{"revision":3,"changed":true,"replayed":false,"first":10,"count":1,"name":"just oat","warnings":[]}"#
                    + "\n"
            )
            #expect(
                try await self.user.output("tree", "1")
                    == """
                    List  #2
                      List  #6
                        [x] Milk  #7
                          Oat  #8
                        Bread  #9
                      [x] Milk  #3
                        Oat  #4
                      Bread  #5
                    Oat  #10

                    """
            )
            #expect(
                try await self.user.output("cp", "10", "2", "--below")
                    == "copied nothing: the item has nothing below it\n"
            )
            #expect(try await self.user.output("undo") == "undid: just oat\n")
            #expect(try await self.user.output("undo") == "undid: add item \"List\" and 3 more items\n")
        }

        @Test func copiesFromOneServerToAnother() async throws {
            let other = try await ServerProcess.started()
            let otherUser = await CommandLineUser(other)
            let (from, to) = (await self.server.address, await other.address)
            #expect(try await self.user.run("import", "-", "--format", "jsonl", input: Self.lines).status == 0)
            #expect(try await self.user.output("cp", "2", "1@\(to)") == "copied 4 items, ids 2 to 5, revision 1\n")
            // The root copies its contents but not itself.
            #expect(
                try await otherUser.output("cp", "1@nest://\(from)/", "1", "--first", "--json")
                    == #"{"revision":2,"changed":true,"replayed":false,"first":6,"count":4,"name":"add item \"List\" and 3 more items","warnings":[]}"#
                    + "\n"
            )
            let outline = try await self.user.output("export", "--format", "opml")
            #expect(
                try await otherUser.output("export", "2", "--format", "json")
                    == self.user.output("export", "--format", "json")
            )
            #expect(try await otherUser.output("export", "6", "--format", "opml").contains("a=\"1\""))
            #expect(outline.contains("a=\"1\""))

            let missing = try await self.user.run("cp", "99", "1@\(to)")
            #expect(missing.status == 1 && missing.errors.contains("no object with id 99"), "\(missing.report)")
            let noTarget = try await self.user.run("cp", "2", "99@\(to)", "--json")
            #expect(noTarget.status == 1 && noTarget.errors.contains("NOT_FOUND"), "\(noTarget.report)")
            let unreachable = try await self.user.run("cp", "2", "1@127.0.0.1:1")
            #expect(unreachable.status == 69, "\(unreachable.report)")
            #expect(try await self.user.run("cp", "2", "here").status == 64)
            // The servers of two contexts.
            try await self.user.output("context", "set", "home", "--server", from, "--quiet")
            try await self.user.output("context", "set", "work", "--server", "tcp://\(to)")
            #expect(try await self.user.output("cp", "2@home", "6@work", "--below").hasPrefix("copied 3 items"))
            try await self.user.output("undo", "--server", to)
            #expect(try await otherUser.output("ls").split(separator: "\n").count == 2)
        }

        /// SERVER:ID, whose last number could also be a port, is refused with every reading in the form that cannot be
        /// misread.
        @Test func anAmbiguousItemIsRefusedWithItsReadings() async throws {
            let ambiguous: [(String, [String])] = [
                (
                    "127.0.0.1:7104",
                    [
                        "7104@127.0.0.1 for the item 7104 on the server 127.0.0.1:7000",
                        "ID@127.0.0.1:7104 for an item on the server 127.0.0.1:7104",
                    ]
                ),
                ("home:7", ["7@home for the item 7", "ID@home:7"]), (":7104", ["ID@:7104"]),
                ("127.0.0.1:7001:7", ["7@127.0.0.1:7001 for the item 7 on the server 127.0.0.1:7001"]),
            ]
            for (item, readings) in ambiguous {
                for arguments in [[item, "1"], ["2", item]] {
                    let result = try await self.user.run(["cp"] + arguments)
                    #expect(result.status == 64, "\(result.report)")
                    for reading in readings { #expect(result.errors.contains(reading), "\(result.report)") }
                }
            }
            for (item, reason) in [
                ("x@home", "'x' is not an id"), ("7@", "has no host"), ("7@http://h", "for the web"),
                ("0@h", "not an id"), ("7@h:x", "no port"),
            ] {
                let result = try await self.user.run("cp", "2", item)
                #expect(result.status == 64 && result.errors.contains(reason), "\(result.report)")
            }
        }

        /// Attributes that the target's model lacks are left out and reported.
        @Test func attributesThatTheTargetLacksAreLeftOut() async throws {
            let model = """
                {"format": "nest-model", "entities": [{"name": "Item", "attributes": [
                  {"name": "title", "type": "string"}, {"name": "done", "type": "integer", "optional": true}],
                 "relationships": [
                  {"name": "parent", "destination": "Item", "inverse": "children"},
                  {"name": "children", "destination": "Item", "inverse": "parent", "toMany": true, "ordered": true,
                   "deleteRule": "cascade"}]}]}
                """
            let other = try await ServerProcess.started(model: model)
            let otherUser = await CommandLineUser(other)
            #expect(try await otherUser.output("insert", "Item", "title=Top") == "1\n")
            #expect(try await self.user.run("import", "-", "--format", "jsonl", input: Self.lines).status == 0)
            let copied = try await self.user.run("cp", "2", "1@\(await other.address)")
            #expect(copied.output == "copied 4 items, ids 2 to 5, revision 2\n", "\(copied.report)")
            #expect(
                copied.errors
                    == ["note", "done", "extra"].map {
                        "nestc: the attribute \($0) was left out: the target's Item has none of this type\n"
                    }.joined()
            )
            let imported = try await otherUser.run(
                "import",
                "-",
                "--format",
                "jsonl",
                "--parent",
                "1",
                input: Self.lines
            )
            #expect(imported.output.hasPrefix("imported 4 items"), "\(imported.report)")
            #expect(
                imported.errors
                    == ["notes", "done marks", "items' extra"].map {
                        "nestc: \($0) left out (the server's Item has no attribute for them): 1\n"
                    }.joined()
            )
            let exported = try await otherUser.run("export", "2")
            #expect(exported.output == "List\n\tMilk\n\t\tOat\n\tBread\n")
            #expect(
                exported.errors
                    == "nestc: the attribute done was left out: an outline cannot hold its type; "
                    + "--entity Item exports it\n"
            )
        }

        /// A deep chain and many siblings, larger than the bytes in flight.
        @Test func largeTreesAreCopied() async throws {
            let other = try await ServerProcess.started()
            let otherUser = await CommandLineUser(other)
            var lines = ""
            for depth in 0..<20_000 { lines += "{\"depth\":\(depth),\"title\":\"level \(depth)\"}\n" }
            for number in 0..<20_000 {
                lines += "{\"depth\":1,\"title\":\"\(number) \(String(repeating: "x", count: 100))\"}\n"
            }
            #expect(try await self.user.run("import", "-", "--format", "jsonl", "--quiet", input: lines).status == 0)
            let copied = try await self.user.output("cp", "2", "1@\(await other.address)")
            #expect(copied == "copied 40000 items, ids 2 to 40001, revision 1\n")
            let (a, b) = (
                try await self.user.run("export", "--format", "json"),
                try await otherUser.run("export", "--format", "json")
            )
            #expect(a.outputBytes == b.outputBytes && a.outputBytes.count > 2_000_000)
        }
    }
}
