import ArgumentParser
import NestDocuments
import NestModel

/// `nestc model generate …`: types of a model for programs.
struct GenerateTypes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Write a model's entities as types of a programming language.",
        discussion: """
            Examples:
              nestc model generate swift Shop.xcdatamodeld -o Sources/Shop/Model.swift
              nestc model generate swift shop.json --namespace Shop --public
              nestc model generate typescript shop.json -o src/model.ts
              nestc model generate python shop.json -o model.py
              nestc model generate swift shop.json -o Model.swift --check     for CI

            Swift: a structure for each entity, for requests such as ToDo.where(\\.done == false) and changes such as \
            [.name("Ann")]. TypeScript: the rows of each entity, and Model for connect<Model>(). Python: a data class \
            for the rows of each entity, for client.entity(User), with the values to give. 'docs/models.md' has more. \
            The same model always gives the same text.

            Exit code: with --check, 1 if the file is not what the model gives.
            """
    )

    enum Language: String, ExpressibleByArgument, CaseIterable { case swift, typescript, python }

    @Argument(help: ArgumentHelp("The language: swift, typescript or python.", valueName: "language"))
    var language: Language

    @Argument(
        help: ArgumentHelp("The model's file; '-' for standard input.", valueName: "file"),
        completion: .file()
    )
    var file: ModelArgument

    @Option(
        name: [.short, .customLong("output")],
        help: ArgumentHelp("The file to write; '-' for standard output. (default: -)", valueName: "file"),
        completion: .file()
    )
    var output: String?
    /// `nil`: standard output.
    private var outputFile: String? { self.output == "-" ? nil : self.output }

    @Option(help: ArgumentHelp("Swift: put the types into an enumeration of this name.", valueName: "name"))
    var namespace: String?

    @Flag(name: .customLong("public"), help: "Swift: make the types public, for a library.")
    var isPublic = false

    @Flag(help: "Write nothing: fail if the output file is not what would be written.")
    var check = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.check, self.outputFile == nil { throw ValidationError("--check needs the file to check: -o FILE") }
        if self.language != .swift, self.namespace != nil || self.isPublic {
            throw ValidationError("--namespace and --public are for Swift")
        }
        if let name = self.namespace, !SwiftName.isNamespace(name) {
            throw ValidationError("'\(name)' cannot be the name of an enumeration around the types")
        }
    }

    func run() async throws {
        let model = try self.file.model(self.global).model
        if let name = self.namespace, model.entity(named: name) != nil {
            throw CommandFailure(.usage, "the model has an entity \(name): choose another name for --namespace")
        }
        let text = self.text(of: model)
        guard let path = self.outputFile else {
            var output = Output()
            if self.global.json {
                try output.line(
                    JSONWriter.object { json in
                        json.field("language", self.language.rawValue)
                        json.field("text", text)
                    }
                )
            } else {
                try output.write(Array(text.utf8))
            }
            return try output.flush()
        }
        guard self.check else {
            let file = try OutputFile(path)
            try file.write(Array(text.utf8))
            return try file.commit()
        }
        guard try Self.isText(text, in: path) else {
            throw CommandFailure(.refused, "'\(path)' does not fit the model: write it again, without --check")
        }
    }

    private func text(of model: ManagedObjectModel) -> String {
        switch self.language {
        case .swift: SwiftTypes.text(of: model, namespace: self.namespace, isPublic: self.isPublic)
        case .typescript: TypeScriptTypes.text(of: model)
        case .python: PythonTypes.text(of: model)
        }
    }

    private static func isText(_ text: String, in path: String) throws -> Bool {
        var file = try InputFile(path)
        var rest = Array(text.utf8)[...]
        while let piece = try file.next() {
            guard rest.starts(with: piece) else { return false }
            rest = rest.dropFirst(piece.count)
        }
        return rest.isEmpty
    }
}
