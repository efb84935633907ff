import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// The output and exit status of `nestc` commands.
    @Suite struct Commands {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started()
            self.user = await CommandLineUser(self.server)
        }

        @Test func addPrintsIdsAndPlacesItems() async throws {
            #expect(try await self.user.output("add", "Milk", "Bread") == "2\n3\n")
            #expect(try await self.user.output("add", "Oat milk", "--parent", "2", "--note", "unsweetened") == "4\n")
            #expect(
                try await self.user.output("--json", "add", "Eggs", "--first")
                    == #"{"revision":3,"changed":true,"replayed":false,"ids":[5],"count":1,"name":"add item \"Eggs\""}"#
                    + "\n"
            )
            #expect(try await self.user.output("add", "Butter", "--after", "5", "--name", "butter!") == "6\n")
            #expect(try await self.user.output("add", "Jam", "--before", "3") == "7\n")
            #expect(try await self.user.output("add", "Tea", "Coffee", "--at", "1") == "8\n9\n")
            #expect(try await self.user.output("add", "-", input: "from\n\n  standard input\n") == "10\n11\n")
            #expect(
                try await self.user.output("ls")
                    == "5\tEggs\n8\tTea\n9\tCoffee\n6\tButter\n2\tMilk\n7\tJam\n3\tBread\n10\tfrom\n11\t  standard input\n"
            )
            // A command repeated with its key is executed once.
            let key = String(repeating: "a1", count: 16)
            #expect(try await self.user.output("add", "once", "--key", key) == "12\n")
            #expect(
                try await self.user.output("add", "once", "--key", key, "--json")
                    == #"{"revision":8,"changed":true,"replayed":true,"ids":[12],"count":1,"name":"add item \"once\""}"#
                    + "\n"
            )
            #expect(try await self.user.output("ls").hasSuffix("\n12\tonce\n"))
        }

        @Test func lsTreeAndShowPrintObjects() async throws {
            try await self.user.output("add", "Milk", "Bread", "line\nbreak\tand \"tab\" \u{7}")
            try await self.user.output("add", "Skimmed", "--parent", "2", "--note", "1.5 %")
            try await self.user.output("add", "Half", "--parent", "5")
            try await self.user.output("set", "3", "done=yes")
            #expect(try await self.user.output("ls") == "2\tMilk\n3\tBread\n4\tline\\nbreak\\tand \"tab\" \\u{7}\n")
            #expect(
                try await self.user.output("ls", "--json") == """
                    {"id":2,"title":"Milk","note":null,"done":false,"extra":null,"parent":1}
                    {"id":3,"title":"Bread","note":null,"done":true,"extra":null,"parent":1}
                    {"id":4,"title":"line\\nbreak\\tand \\"tab\\" \\u0007","note":null,"done":false,"extra":null,"parent":1}

                    """
            )
            #expect(
                try await self.user.output("ls", "--parent", "2", "--json")
                    == #"{"id":5,"title":"Skimmed","note":"1.5 %","done":false,"extra":null,"parent":2}"# + "\n"
            )
            #expect(try await self.user.output("ls", "--parent", "6") == "")
            #expect(try await self.user.output("tree", "2") == "Milk  #2\n  Skimmed  #5\n    Half  #6\n")
            #expect(try await self.user.output("tree", "2", "--depth", "1") == "Milk  #2\n  Skimmed  #5\n")
            #expect(
                try await self.user.output("tree").hasPrefix("Milk  #2\n  Skimmed  #5\n    Half  #6\n[x] Bread  #3\n")
            )
            #expect(
                try await self.user.output("tree", "--json", "--depth", "1") == """
                    {"depth":0,"id":2,"title":"Milk","note":null,"done":false,"extra":null}
                    {"depth":0,"id":3,"title":"Bread","note":null,"done":true,"extra":null}
                    {"depth":0,"id":4,"title":"line\\nbreak\\tand \\"tab\\" \\u0007","note":null,"done":false,"extra":null}

                    """
            )
            #expect(
                try await self.user.output("show", "5") == """
                    id        5
                    entity    Item
                    revision  2
                    title     Skimmed
                    note      1.5 %
                    done      no
                    extra     -
                    parent    2
                    children  1

                    """
            )
            #expect(
                try await self.user.output("show", "#3", "--json")
                    == #"{"id":3,"entity":"Item","revision":4,"title":"Bread","note":null,"done":true,"extra":null,"parent":1,"children":0}"#
                    + "\n"
            )
        }

        @Test func setMvAndRmPrintTheirResults() async throws {
            try await self.user.output("add", "a", "b", "c")
            #expect(try await self.user.output("set", "2", "title=A", "note=n", "done=yes") == "")
            #expect(
                try await self.user.output("set", "2", "note:=null", "--json")
                    == #"{"revision":3,"changed":true,"replayed":false,"ids":[],"count":0,"name":"edit \"A\""}"# + "\n"
            )
            let nothing = try await self.user.run("set", "2", "done=yes")
            #expect(nothing.status == 0)
            #expect(nothing.output == "")
            #expect(nothing.errors == "nestc: nothing to change\n")
            #expect(try await self.user.output("set", "2", "done=yes", "--quiet") == "")

            #expect(try await self.user.output("mv", "4", "--first") == "")
            #expect(try await self.user.output("ls") == "4\tc\n2\tA\n3\tb\n")
            #expect(
                try await self.user.output("mv", "3", "4", "--parent", "2", "--json")
                    == #"{"revision":5,"changed":true,"replayed":false,"ids":[],"count":0,"name":"move 2 items"}"#
                    + "\n"
            )
            #expect(try await self.user.output("tree") == "[x] A  #2\n  b  #3\n  c  #4\n")

            #expect(
                try await self.user.output("rm", "2", "--json")
                    == #"{"revision":6,"changed":true,"replayed":false,"ids":[],"count":0,"name":"delete \"A\" and 2 items inside","deleted":3}"#
                    + "\n"
            )
            #expect(try await self.user.output("tree") == "")
        }

        @Test func refusedCommandsPrintTheReason() async throws {
            try await self.user.output("add", "a")
            try await self.user.output("add", "below", "--parent", "2")
            func expect(
                _ arguments: [String],
                _ status: Int32,
                _ message: String,
                sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                let result = try await self.user.run(arguments)
                #expect(result.status == status, "\(result.report)", sourceLocation: sourceLocation)
                #expect(result.output == "", "\(result.report)", sourceLocation: sourceLocation)
                #expect(result.errors.contains(message), "\(result.report)", sourceLocation: sourceLocation)
            }
            try await expect(["show", "99"], 1, "nestc: there is no object with id 99 [NOT_FOUND]")
            try await expect(["ls", "--parent", "99"], 1, "[NOT_FOUND]")
            try await expect(["tree", "99"], 1, "[NOT_FOUND]")
            try await expect(["subscribe", "--parent", "99"], 1, "[NOT_FOUND]")
            try await expect(["add", "x", "--parent", "99"], 1, "[NOT_FOUND]")
            try await expect(["rm", "2", "99"], 1, "[NOT_FOUND]")
            try await expect(["rm", "1"], 1, "[ROOT_OBJECT]")
            try await expect(["mv", "2", "--parent", "3"], 1, "[CYCLE]")
            try await expect(["mv", "2", "--parent", "2"], 1, "[CYCLE]")
            try await expect(["add", "x", "--at", "7"], 1, "[INDEX_OUT_OF_RANGE]")
            try await expect(["set", "2", "title=x", "--expect-revision", "0"], 1, "nestc show ID")
            try await expect(["redo"], 1, "there is nothing to redo")
            try await expect(["set", "2", "title:=null"], 1, "[VALIDATION_FAILED]")
            try await expect(
                ["set", "2", "colour=red"],
                64,
                "Item has no 'colour'; it has title, note, done, extra, parent"
            )
            try await expect(["set", "2", "done=perhaps"], 64, "done must be yes or no")
            try await expect(["set", "2", "done"], 64, "not name=value")
            try await expect(["add"], 64, "Missing expected argument")
            try await expect(["add", "x", "--first", "--at", "1"], 64, "only one of")
            try await expect(["show", "milk"], 64, "'milk' is invalid")
            try await expect(["frobnicate"], 64, "frobnicate")
            try await expect(["ls", "--session", "xyz"], 64, "32 hexadecimal digits")
            try await expect(
                ["ls", "--server", "localhost:seven"],
                64,
                "--server: 'localhost:seven' is not the address"
            )
            try await expect(["import", "/does/not/exist"], 66, "cannot open '/does/not/exist'")
            try await expect(["export", "--output", "/does/not/exist"], 74, "cannot write '/does/not/exist'")
            // None of these commands changed the store.
            #expect(try await self.user.output("tree") == "a  #2\n  below  #3\n")
        }

        @Test func badInputIsReportedByLineAndStoresNothing() async throws {
            let bytes: [(input: [UInt8], location: String)] = [
                (Array("good\n\tbad ".utf8) + [0xff], "line 2, column 6"),
                (Array("good\nN".utf8) + [0], "line 2, column 2"),
                (Array(String(repeating: "x", count: Limits.valueBytesMax + 1).utf8), "line 1"),
            ]
            for (input, location) in bytes {
                let result = try await self.user.run(["import", "-"], input: input)
                #expect(result.status == 65, "\(result.report)")
                #expect(result.errors.contains(location), "\(result.report)")
            }
            #expect(try await self.user.output("ls") == "")
        }

        @Test func pingAndStatPrintTheServersState() async throws {
            let plain = try await self.user.output("ping", "--count", "2")
            #expect(plain.wholeMatch(of: /(pong in [0-9]+\.[0-9]{3} ms\n){2}/) != nil, "\(plain)")
            let json = try await self.user.output("ping", "--json")
            #expect(json.wholeMatch(of: /\{"roundTripMicroseconds":[0-9]+\}\n/) != nil, "\(json)")
            try await self.user.output("add", "a")
            let statistics = try await self.user.output("stat")
            #expect(statistics.contains(/(?m)^revision +1$/), "\(statistics)")
            #expect(statistics.contains(/(?m)^connections +1$/), "\(statistics)")
            let object = try await self.user.output("stat", "--json")
            #expect(object.hasPrefix(#"{"revision":1,"#) && object.hasSuffix("}\n"), "\(object)")
            #expect(object.contains(#""sessions":"#) && object.contains(#""bytes_out":"#), "\(object)")
        }

        @Test func helpAndVersionGoToStandardOutput() async throws {
            #expect(try await self.user.output("--version") == "nestc 0.1.0\n")
            #expect(try await self.user.output("--help").contains("\nUNDO:\n  undo "))
            #expect(try await self.user.output("help", "add").contains("nestc add Milk Bread"))
            #expect(try await self.user.output("help", "exit-codes").contains("69"))
        }
    }
}
