import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// Models on the command line: `nestc model`, which reads files without a server, and `nestd --model`.
    @Suite struct ModelCommands {
        private let directory = TemporaryDirectory()
        private let user: CommandLineUser

        init() {
            // No server listens on this port.
            self.user = CommandLineUser(server: "127.0.0.1:9", directory: self.directory)
        }

        private func write(_ text: String, _ name: String) throws -> String {
            let path = "\(self.directory.path)/\(name)"
            try Data(text.utf8).write(to: URL(filePath: path))
            return path
        }

        private static let sound = """
            <model><entity name="Dog" elementID="Hound">
            <attribute name="name" attributeType="String" maxValueString="40"/>
            <attribute name="photo" optional="YES" attributeType="Transformable"/>
            <relationship name="mother" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Dog" \
            inverseName="puppies" inverseEntity="Dog"/>
            <relationship name="puppies" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" \
            destinationEntity="Dog" inverseName="mother" inverseEntity="Dog"/>
            </entity></model>
            """

        private static let unsound =
            #"{"entities": [{"name": "Dog", "relationships": [{"name": "a", "destination": "Cat", "inverse": "b"}]}]}"#

        @Test func modelFilesAreShownCheckedAndConverted() async throws {
            let path = try self.write(Self.sound, "contents")
            let drawing = """
                Dog (was Hound)
                  name          string  at most 40 characters
                  photo         data    optional
                  mother   -->  Dog     optional, inverse puppies, nullify
                  puppies  -->> Dog     optional, ordered, inverse mother, cascade

                """
            let shown = try await self.user.run("model", "show", path)
            #expect(shown.status == 0 && shown.output == drawing, "\(shown.report)")
            #expect(shown.errors.contains("Dog.photo: Transformable"), "\(shown.report)")

            let checked = try await self.user.run("model", "check", path)
            #expect(checked.status == 0, "\(checked.report)")
            #expect(
                checked.output.hasSuffix("the model can be served: entities 1, properties 4\n"),
                "\(checked.report)"
            )

            let json = "\(self.directory.path)/dog.json"
            #expect(try await self.user.run("model", "convert", path, "-o", json, "--quiet").status == 0)
            let printed = try await self.user.output("model", "convert", path, "-o", "-", "--quiet")
            #expect(printed == (try String(contentsOfFile: json, encoding: .utf8)))
            #expect(try await self.user.output("model", "show", json) == drawing)
            #expect(try await self.user.shell("nestc model convert '\(json)' | nestc model show -").output == drawing)
            let line = try await self.user.output("model", "show", json, "--json")
            #expect(line.hasPrefix(#"{"format": "nest-model", "version": 1, "entities": [{"name": "Dog""#))
            #expect(line.filter { $0 == "\n" }.count == 1)
        }

        @Test func typesAreWrittenAndChecked() async throws {
            let path = try self.write(Self.sound, "contents")
            let file = "\(self.directory.path)/Dog.swift"
            let text = try await self.user.output("model", "generate", "swift", path, "--quiet")
            #expect(text.contains("\nstruct Dog: ModelEntity {\n") && text.contains("    var mother: ObjectID?\n"))
            let generate = ["model", "generate", "swift", path, "-o", file, "--quiet"]
            let missing = try await self.user.run(generate + ["--check"])
            #expect(missing.status == 66, "\(missing.report)")
            #expect(try await self.user.run(generate).status == 0)
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
            #expect(try await self.user.run(generate + ["--check"]).status == 0)
            // A check writes nothing.
            for change in [text + " ", String(text.dropLast()), ""] {
                _ = try self.write(change, "Dog.swift")
                let result = try await self.user.run(generate + ["--check"])
                #expect(result.status == 1 && result.errors.contains("does not fit the model"), "\(result.report)")
                #expect(try String(contentsOfFile: file, encoding: .utf8) == change)
            }
            for wrong in [["--check"], ["--namespace", "a-b"]] {
                #expect(try await self.user.run(["model", "generate", "swift", path] + wrong).status == 64)
            }
            for language in ["typescript", "python"] {
                #expect(try await self.user.run("model", "generate", language, path, "--public").status == 64)
                let generate = ["model", "generate", language, path, "-o", file, "--quiet"]
                #expect(try await self.user.run(generate + ["--check"]).status == 1, "that of Swift")
                #expect(try await self.user.run(generate).status == 0)
                #expect(try await self.user.run(generate + ["--check"]).status == 0)
            }
            #expect(try await self.user.run("model", "generate", "cobol", path).status == 64)
        }

        @Test func faultsOfAModelAreListed() async throws {
            let path = try self.write(Self.unsound, "model.json")
            let checked = try await self.user.run("model", "check", path)
            #expect(checked.status == 65, "\(checked.report)")
            #expect(checked.output == "fault: Dog.a: its destination Cat is not in the model\n", "\(checked.report)")
            let json = try await self.user.run("model", "check", path, "--json")
            #expect(
                json.output
                    == #"{"sound":false,"faults":["Dog.a: its destination Cat is not in the model"],"warnings":[]}"#
                    + "\n"
            )
            #expect(try await self.user.run("model", "show", path).status == 65)
            #expect(try await self.user.run("model", "convert", path).status == 65)
            #expect(try await self.user.run("model", "check", path + ".gone").status == 66)
            #expect(try await self.user.run("model", "check", "/dev/null").status == 74)
            #expect(try await self.user.run("model", "show").status == 69)
            #expect(try await self.user.run("model", "draw").status == 64)
        }

        @Test func aServerRefusesAModelAndListsItsFaults() async throws {
            let path = try self.write(Self.unsound, "model.json")
            for bad in [path, path + ".gone"] {
                let process = try ChildProcess(Program.nestd, ["--memory", "--port", "0", "--model", bad])
                #expect(try await process.waitForEnd() == .exit(78))
                #expect(process.errors.contains("nestd: \(bad): "), "\(process.errors)")
            }
        }

        @Test func aServerServesAModel() async throws {
            let path = try self.write(Self.sound, "contents")
            let server = ServerProcess(arguments: ["--model", path])
            try await server.start()
            let other = await CommandLineUser(server)
            #expect(try await other.output("model", "show").contains("  puppies  -->> Dog"))
        }
    }
}
