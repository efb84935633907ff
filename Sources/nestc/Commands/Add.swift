import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Add: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Insert items and print their ids.",
        discussion: """
            Examples:
              nestc add Milk Bread                 two items under the root, in this order
              nestc add "Oat milk" --parent 2      last under item 2
              nestc add First --first
              nestc add Between --after 7
              ls | nestc add - --parent 2          one item per line of input

            Each command is one transaction and one undo entry.
            """
    )

    @Argument(help: "The titles. '-' reads them from standard input, one per line.")
    var titles: [String]

    @Option(help: ArgumentHelp("The parent of the new items.", valueName: "id"))
    var parent: IDArgument?

    @OptionGroup var placing: PlaceOptions

    @Option(help: "The note of each new item.")
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
                "'add' takes at most \(Limits.mutationsPerTransactionMax) titles, not \(titles.count): "
                    + "use 'nestc import'"
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

    /// Returns the specified parent, or the parent of the neighbour, or the root.
    private func owner(_ client: NestClient, _ outline: Outline) async throws -> ObjectID {
        if let parent { return parent.id }
        guard let neighbour = self.placing.neighbour else { return outline.top }
        return try await parentOf(neighbour, client, outline)
    }
}

/// Returns the parent of an item, for a position that only names a neighbour.
func parentOf(_ id: ObjectID, _ client: NestClient, _ outline: Outline) async throws -> ObjectID {
    let object = try await client.object(id)
    guard let parent = object.values.first(where: { $0.property == outline.parent })?.value.referenceValue else {
        throw CommandFailure(.refused, "item \(id) has no parent: it cannot move, and items cannot be next to it")
    }
    return parent
}

/// Returns the lines of standard input without their terminators. Skips empty lines.
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
