import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Add: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Insert items; prints their ids.",
        discussion: """
            Examples:
              nestc add Milk Bread                 two items under the root, in this order
              nestc add "Oat milk" --parent 2      below item 2, as the last
              nestc add First --first
              nestc add Between --after 7
              ls | nestc add - --parent 2          one item per line of standard input

            Everything one command adds is one transaction and one undo entry.
            """
    )

    @Argument(help: "Titles; '-' for the lines of standard input.")
    var titles: [String]

    @Option(help: ArgumentHelp("The item that the new ones go under.", valueName: "id"))
    var parent: IDArgument?

    @OptionGroup var placing: PlaceOptions

    @Option(help: "A note for each of them.")
    var note: String?

    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let outline = try await Outline(client)
        var titles: [String] = []
        for title in self.titles { titles += title == "-" ? try standardInputLines() : [title] }
        guard titles.count <= Limits.mutationsPerTransactionMax else {
            throw CommandFailure(
                .usage,
                "\(titles.count) titles; 'add' takes \(Limits.mutationsPerTransactionMax). Use 'nestc import'."
            )
        }
        guard !titles.isEmpty else { return }
        let owner = try await self.owner(client, outline)
        var mutations: [Mutation] = []
        for title in titles {
            var values = [PropertyAssignment(outline.title, .value(.string(title)))]
            if let note = self.note, let property = outline.note {
                values.append(PropertyAssignment(property, .value(.string(note))))
            }
            let previous = mutations.isEmpty ? nil : ObjectReference.inserted(mutations.count)
            let placement = Placement(
                relationship: outline.parent,
                owner: .object(owner),
                place: self.placing.place(after: previous)
            )
            mutations.append(.insert(entity: outline.entity.number, values: values, placements: [placement]))
        }
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            mutations: mutations
        )
        let receipt = try await client.transaction(transaction)
        if self.global.json {
            try output.line(receipt.json)
        } else {
            for id in receipt.insertedIDs { try output.line("\(id)") }
        }
    }

    /// The parent that was said, or that of the neighbour, or the root.
    private func owner(_ client: NestClient, _ outline: Outline) async throws -> ObjectID {
        if let parent { return parent.id }
        guard let neighbour = self.placing.neighbour else { return outline.top }
        return try await parentOf(neighbour, client, outline)
    }
}

/// The parent of an item, for a place that is said by a neighbour only.
func parentOf(_ id: ObjectID, _ client: NestClient, _ outline: Outline) async throws -> ObjectID {
    let object = try await client.object(id)
    guard let parent = object.values.first(where: { $0.property == outline.parent })?.value.referenceValue else {
        throw CommandFailure(.refused, "item \(id) has no parent, so nothing can stand beside it")
    }
    return parent
}

/// The lines of standard input without their ends; blank ones are left out.
func standardInputLines() throws -> [String] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
        let count = readBytes(STDIN_FILENO, &piece)
        guard count >= 0 else { throw CommandFailure(.inputOutput, "cannot read standard input: \(errorText(errno))") }
        if count == 0 { break }
        bytes += piece[..<count]
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure(.badInput, "standard input is not valid UTF-8")
    }
    return text.split(whereSeparator: \.isNewline).map(String.init)
}
