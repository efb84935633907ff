import Foundation
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// `nestc import`, `export` and `cp` of an entity that is not `Item`.
    @Suite struct EntityOutlines {
        static let model = """
            {"format": "nest-model", "entities": [
              {"name": "Folder",
               "attributes": [
                 {"name": "name", "type": "string", "minimum": 1},
                 {"name": "created", "type": "date"},
                 {"name": "size", "type": "decimal", "default": "0"},
                 {"name": "shared", "type": "boolean", "optional": true},
                 {"name": "remark", "type": "string", "optional": true},
                 {"name": "level", "type": "integer", "optional": true}],
               "relationships": [
                 {"name": "folders", "destination": "Folder", "inverse": "folder", "toMany": true, "ordered": true,
                  "deleteRule": "cascade"},
                 {"name": "folder", "destination": "Folder", "inverse": "folders"}]},
              {"name": "Person",
               "attributes": [{"name": "name", "type": "string"}],
               "relationships": [
                 {"name": "reports", "destination": "Person", "inverse": "manager", "toMany": true, "ordered": true},
                 {"name": "manager", "destination": "Person", "inverse": "reports"},
                 {"name": "pupils", "destination": "Person", "inverse": "teacher", "toMany": true},
                 {"name": "teacher", "destination": "Person", "inverse": "pupils"}]}
            ]}
            """

        private static let lines = """
            {"depth":0,"name":"Docs","created":"2026-01-02T03:04:05.5Z","size":"1.50","shared":true}
            {"depth":1,"name":"Letters","created":"2026-02-03T00:00:00Z","remark":"all, of them","level_":7}
            {"depth":2,"name":"2025","created":"2025-01-01T00:00:00Z","size":12345678901234567890,"shared":false}
            {"depth":0,"name":"Music","created":"2026-01-01T00:00:00Z"}

            """

        private let server: ServerProcess
        private let user: CommandLineUser
        /// The folder that contains all imports.
        private let top: String

        init() async throws {
            self.server = try await ServerProcess.started(model: Self.model)
            self.user = await CommandLineUser(self.server)
            let added = try await self.user.output("insert", "Folder", "name=all", "created=2026-01-01T00:00:00Z")
            self.top = added.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private func importing(_ arguments: String..., input: String) async throws -> CommandLineUser.Result {
            let all = ["import", "-", "--entity", "Folder", "--parent", self.top] + arguments
            return try await self.user.run(all, input: Array(input.utf8))
        }

        /// Exporting and importing in a lossless format preserves all attributes.
        @Test(arguments: ["json", "jsonl", "csv", "tsv", "opml", "org", "taskpaper"])
        func everyFormatPreservesAllAttributes(_ format: String) async throws {
            let first = try await self.importing("--format", "jsonl", input: Self.lines)
            #expect(first.output == "imported 4 items, ids 2 to 5, revision 2\n", "\(first.report)")
            #expect(first.errors == "")
            let out = ["export", self.top, "--entity", "Folder", "--below", "--format", format]
            let text = try await self.user.output(out)
            let again = try await self.importing("--format", format, "--last", input: text)
            #expect(again.output == "imported 4 items, ids 6 to 9, revision 3\n", "\(again.report)")
            // The title is that of the folder around the items.
            #expect(again.errors == (format == "opml" ? "nestc: elements of the head left out (title): 1\n" : ""))
            let all = try await self.user.output("fetch", "--entity", "Folder", "--json")
            let objects = all.split(separator: "\n").map { line in
                line.replacing(/"(id|folder)":(\d+|null),?/, with: "")
            }
            #expect(Array(objects.dropFirst().prefix(4)) == Array(objects.suffix(4)), "\(all)")
        }

        @Test func exportsUseTheNamesOfTheModel() async throws {
            #expect(try await self.importing(input: Self.lines).status == 0)
            let lines = try await self.user.output("export", "2", "--entity", "Folder", "--format", "jsonl")
            #expect(
                lines == """
                    {"depth":0,"id":2,"parent":null,"name":"Docs","created":"2026-01-02T03:04:05.500000Z","size":"1.5","shared":true}
                    {"depth":1,"id":3,"parent":2,"name":"Letters","created":"2026-02-03T00:00:00.000000Z","size":"0","remark":"all, of them","level_":7}
                    {"depth":2,"id":4,"parent":3,"name":"2025","created":"2025-01-01T00:00:00.000000Z","size":"12345678901234567890","shared":false}

                    """
            )
            let table = try await self.user.output("export", "2", "--entity", "Folder", "--format", "csv")
            #expect(
                table.hasPrefix(
                    """
                    id,parent,level,name,created,size,shared,remark,level_
                    2,,0,Docs,2026-01-02T03:04:05.500000Z,1.5,yes,,
                    3,2,1,Letters,2026-02-03T00:00:00.000000Z,0,,"all, of them",7
                    """
                )
            )
        }

        /// Text holds titles; Markdown also holds notes and done marks if options name their attributes. Lost
        /// attributes are counted.
        @Test func textAndMarkdownReportLostAttributes() async throws {
            let model = Self.model.replacing(
                #"{"name": "created", "type": "date"}"#,
                with: #"{"name": "created", "type": "date", "default": "now"}"#
            )
            let server = try await ServerProcess.started(model: model)
            let user = await CommandLineUser(server)
            #expect(try await user.output("insert", "Folder", "name=all") == "1\n")
            let options = ["--entity", "Folder", "--note-attribute", "remark", "--done-attribute", "shared"]
            let text = "- [x] a\n  - b\n    first\n    second\n"
            let into = ["import", "-", "--parent", "1", "--format", "md"] + options
            #expect(try await user.output(into, input: text) == "imported 2 items, ids 2 to 3, revision 2\n")
            let out = try await user.run(["export", "2", "--format", "md"] + options)
            #expect(out.output == text)
            #expect(out.errors == "nestc: attributes left out (Markdown cannot hold them): 4\n")
            let plain = try await user.run("export", "2", "--entity", "Folder")
            #expect(plain.output == "a\n\tb\n")
            #expect(plain.errors.contains("attributes left out (text holds titles): "))
        }

        /// Each fault is reported with its source location, and nothing is stored.
        @Test func faultsAreReportedWithTheirSourceLocation() async throws {
            let faults = [
                ("jsonl", #"{"name":"a","created":"soon"}"#, "line 1, column 1: created must be a date like"),
                (
                    "jsonl", "{\"name\":\"a\",\"created\":\"now\"}\n{\"name\":\"b\"}",
                    "line 2, column 1: created is missing"
                ),
                (
                    "jsonl", #"{"name":"a","created":"now","shared":"x"}"#,
                    "line 1, column 1: shared must be true or false"
                ),
                ("jsonl", #"{"name":"a","created":"now","size":null}"#, ""),
                (
                    "jsonl", #"{"name":"a","created":"now","colour":"red"}"#,
                    "line 1, column 1: Folder has no attribute for \"colour\""
                ),
                ("csv", "name,created,size\na,now,1\nb,now,many\n", "line 3, column 7: size"),
                ("csv", "name,created,colour\na,now,red\n", "line 2, column 1: Folder has no attribute for \"colour\""),
                (
                    "csv", "label,created\na,now\n",
                    "the first line must name a column \"name\"; it may also name level, parent, id, created"
                ),
                (
                    "json", "[{\"name\":\"a\",\"created\":\"now\",\n \"children\":[{\"name\":\"b\"}]}]",
                    "line 2, column 14: created is missing"
                ),
                ("opml", "<opml><body>\n<outline text=\"a\"/></body></opml>", "line 2, column"),
            ]
            for (format, text, expected) in faults {
                let result = try await self.importing("--format", format, input: text)
                if expected.isEmpty {
                    #expect(result.status == 0, "\(result.report)")
                } else {
                    #expect(result.status == 65, "\(result.report)")
                    #expect(result.errors.contains(expected), "\(result.report)")
                }
                let tried = try await self.importing("--format", format, "--dry-run", input: text)
                #expect((tried.status == 0) == expected.isEmpty, "\(tried.report)")
            }
            #expect(try await self.user.output("fetch", "--entity", "Folder", "--count") == "2\n")
        }

        /// `--set` gives an attribute to the objects for which a file of any format has no value.
        @Test(arguments: [
            ("text", "a\n"), ("md", "- a\n"), ("opml", "<opml><body><outline text='a'/></body></opml>"),
            ("json", #"[{"name":"a"}]"#), ("jsonl", #"{"name":"a","created":null}"#), ("csv", "name,shared\na,\n"),
            ("tsv", "name\tcreated\na\t\n"),
        ])
        func setGivesAttributesThatTheFileLacks(_ format: String, _ text: String) async throws {
            let missing = try await self.importing("--format", format, input: text)
            #expect(missing.status == 65)
            #expect(
                missing.errors.contains(
                    "created is missing, and Folder requires it; give a value to the items without one: --set created=…"
                ),
                "\(missing.report)"
            )
            let set = [
                "--format", format, "--set", "created=2026-01-02T00:00:00Z", "--set", "shared=yes", "--set", "size=7",
            ]
            let tried = try await self.user.run(
                ["import", "-", "--entity", "Folder", "--dry-run"] + set,
                input: Array(text.utf8)
            )
            #expect(tried.output == "1 item in 1 level\n", "\(tried.report)")
            let all = ["import", "-", "--entity", "Folder", "--parent", self.top] + set
            #expect(try await self.user.output(all, input: text) == "imported 1 item, id 2, revision 2\n")
            #expect(
                try await self.user.output("export", "2", "--entity", "Folder", "--format", "jsonl")
                    == #"{"depth":0,"id":2,"parent":null,"name":"a","created":"2026-01-02T00:00:00.000000Z","size":"7","shared":true}"#
                    + "\n"
            )
        }

        @Test func aDirectoryGetsTheAttributesOfSet() async throws {
            let path = "\(self.server.directory.path)/files"
            #expect(mkdir(path, 0o755) == 0)
            let result = try await self.user.run(
                "import",
                path,
                "--entity",
                "Folder",
                "--parent",
                self.top,
                "--set",
                "created=now",
                "--set",
                "remark=disk"
            )
            #expect(result.output.hasPrefix("imported 1 item"), "\(result.report)")
            #expect(try await self.user.output("show", "2").contains("remark"))
        }

        /// The file's own values, also JSON's null, win over `--set`.
        @Test func valuesOfTheFileWinOverSet() async throws {
            let lines = """
                {"depth":0,"name":"a","created":"2026-05-05T00:00:00Z","remark":null}
                {"depth":0,"name":"b","remark":"own"}
                {"depth":0,"name":"c"}
                """
            let result = try await self.importing(
                "--format",
                "jsonl",
                "--set",
                "created=2026-01-01T00:00:00Z",
                "--set",
                "remark=set",
                input: lines
            )
            #expect(result.status == 0, "\(result.report)")
            let fetched = try await self.user.output(
                "export",
                self.top,
                "--entity",
                "Folder",
                "--below",
                "--format",
                "csv"
            )
            let rows = fetched.split(separator: "\n").dropFirst().map { row in
                row.split(separator: ",", omittingEmptySubsequences: false)[3...].joined(separator: ",")
            }
            #expect(
                rows == [
                    "a,2026-05-05T00:00:00.000000Z,0,,,", "b,2026-01-01T00:00:00.000000Z,0,,own,",
                    "c,2026-01-01T00:00:00.000000Z,0,,set,",
                ]
            )
        }

        /// Unknown names and invalid values of `--set` are errors of the command line, and nothing is sent.
        @Test func faultsOfSetAreReportedBeforeAnythingIsSent() async throws {
            let before = try await self.user.output("history", "--all")
            for (assignment, expected) in [
                ("colour=red", "--set: Folder has no 'colour'; it has name, created, size, shared, remark, level"),
                ("created=soon", "--set: created must be a date: write a date as 2026-02-01, "),
                ("created:=null", "--set: created is required"), ("size=many", "--set: size is not a decimal number"),
                ("level=x", "--set: level must be a whole number, not 'x'"), ("remark", "--set: 'remark' is not name="),
                ("name=x", "--set: name is the title, which each item of a file has"),
                ("folder=1", "--set: Folder.folder is a relationship; an import sets attributes"),
                ("folders=1", "--set: Folder.folders is a relationship"), ("=x", "--set: Folder has no ''"),
                ("created=now=now", "--set: created must be a date"),
            ] {
                for more in [[], ["--dry-run"]] {
                    let result = try await self.user.run(
                        ["import", "-", "--entity", "Folder", "--parent", self.top, "--set", assignment] + more,
                        input: Array("a\n".utf8)
                    )
                    #expect(result.status == 64, "\(assignment): \(result.report)")
                    #expect(result.errors.contains(expected), "\(assignment): \(result.report)")
                }
            }
            let twice = try await self.importing("--set", "level=1", "--set", "level=2", input: "a\n")
            #expect(twice.status == 64 && twice.errors.contains("--set: level is set twice"), "\(twice.report)")
            #expect(try await self.user.output("history", "--all") == before)
        }

        /// An item that lacks several required attributes has one error for all.
        @Test func allMissingAttributesAreNamed() async throws {
            let model = Self.model.replacing(#""type": "decimal", "default": "0""#, with: #""type": "decimal""#)
            let server = try await ServerProcess.started(model: model)
            let user = await CommandLineUser(server)
            #expect(try await user.output("insert", "Folder", "name=all", "created=now", "size=1") == "1\n")
            let result = try await user.run("import", "-", "--entity", "Folder", "--parent", "1", input: "a\n")
            #expect(
                result.errors == """
                    nestc: line 1, column 1: created, size are missing, and Folder requires them; give a value to the \
                    items without one: --set created=… --set size=…

                    """
            )
        }

        @Test func skipUnknownLeavesOutUnknownColumns() async throws {
            let text = "name,created,colour\na,now,red\nb,now,\n"
            let result = try await self.importing("--format", "csv", "--skip-unknown", input: text)
            #expect(result.output.hasPrefix("imported 2 items"), "\(result.report)")
            let loss = "items' extra left out (the server's Folder has no attribute for them): 1"
            #expect(result.errors == "nestc: \(loss)\n")
        }

        @Test func relationshipsThatAreNotHierarchiesAreRefused() async throws {
            func errors(_ arguments: String...) async throws -> String {
                let result = try await self.user.run(arguments)
                #expect(result.status != 0, "\(result.report)")
                return result.errors
            }
            #expect(try await errors("export", "1").contains("has no entity Item; specify --entity: Folder, Person"))
            #expect(try await errors("export", "1", "--entity", "File").contains("has no entity File"))
            #expect(try await errors("export", "--entity", "Folder").contains("the entity Folder has no root"))
            #expect(
                try await errors("export", "1", "--entity", "Person")
                    .contains("Person has several hierarchies: specify --relationship: reports, pupils")
            )
            #expect(
                try await errors("import", "/dev/null", "--dry-run", "--entity", "Person", "--relationship", "pupils")
                    .contains("Person.pupils is not ordered")
            )
            #expect(
                try await errors("export", "1", "--entity", "Folder", "--title-attribute", "size")
                    .contains("--title-attribute: Folder has no string size; it has name, remark")
            )
        }

        /// Copies to servers whose model has fewer attributes, other required attributes, or not the entity.
        @Test func copiesBetweenModels() async throws {
            #expect(try await self.importing(input: Self.lines).status == 0)
            let narrow = Self.model
                .replacing(#"{"name": "remark", "type": "string", "optional": true},"#, with: "")
            let other = try await ServerProcess.started(model: narrow)
            let otherUser = await CommandLineUser(other)
            #expect(try await otherUser.output("insert", "Folder", "name=here", "created=now") == "1\n")
            let copied = try await self.user.run("cp", "2", "1@\(await other.address)", "--entity", "Folder")
            #expect(copied.output == "copied 3 items, ids 2 to 4, revision 2\n", "\(copied.report)")
            #expect(
                copied.errors
                    == "nestc: the attribute remark was left out: the target's Folder has none of this type\n"
            )
            // The target requires an attribute that the source lacks.
            let needy = narrow.replacing(#""default": "0""#, with: #""minimum": "0""#)
                .replacing(#"{"name": "created", "type": "date"}"#, with: #"{"name": "since", "type": "date"}"#)
            let third = try await ServerProcess.started(model: needy)
            let refused = try await self.user.run("cp", "2", "1@\(await third.address)", "--entity", "Folder")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("the target's Folder requires since, which the source does not have"))
            let plain = try await ServerProcess.started()
            let missing = try await self.user.run("cp", "2", "1@\(await plain.address)", "--entity", "Folder")
            #expect(missing.status == 1)
            #expect(missing.errors.contains("has no entity Folder; specify --entity: Item"))
        }
    }
}
