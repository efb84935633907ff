import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Add: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Insert objects with a title and print their ids.",
        discussion: """
            Examples:
              nestc add Milk Bread                 two items under the root, in this order
              nestc add "Oat milk" --parent 2      last under item 2
              nestc add First --first
              nestc add Between --after 7
              ls | nestc add - --parent 2          one item per line of input
              nestc add Work --entity Folder       into another hierarchy

            The entity is that of the parent or neighbour, or --entity: any with a relationship to itself. The title \
            is its label. In a hierarchy without a root object, objects without --parent go to the top.

            Each command is one transaction and one undo entry. 'nestc insert' sets any values.
            """
    )

    @Argument(help: "The titles. '-' reads them from standard input, one per line.")
    var titles: [String]

    @Option(help: ArgumentHelp("The parent of the new items.", valueName: "id"))
    var parent: IDArgument?

    @OptionGroup var placing: PlaceOptions

    @Option(help: "The note of each new item.")
    var note: String?

    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let hierarchy = try await Hierarchy(client, self.entity, of: self.parent?.id ?? self.placing.neighbour)
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
        let owner = try await self.owner(client, hierarchy)
        guard owner != nil || !self.placing.isGiven else {
            throw CommandFailure(.usage, "a position needs a parent: specify it with --parent")
        }
        let entity = try hierarchy.model.requireConcreteEntity(hierarchy.entity.name)
        let title = try hierarchy.titleAttribute()
        let note = try self.noteAssignment(entity)
        var mutations: [Mutation] = []
        for text in titles {
            let previous = mutations.isEmpty ? nil : ObjectReference.inserted(mutations.count)
            let place = self.placing.place(after: previous)
            let position = try owner.map { try hierarchy.position(under: $0, place) }
            mutations.append(
                .insert(
                    entity: entity.number,
                    values: [PropertyAssignment(title, .value(.string(text)))] + note + (position?.values ?? []),
                    placements: position?.placements ?? []
                )
            )
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

    /// Returns the specified parent, or the parent of the neighbour, or the root if there is one.
    private func owner(_ client: NestClient, _ hierarchy: Hierarchy) async throws -> ObjectID? {
        if let parent { return parent.id }
        guard let neighbour = self.placing.neighbour else { return hierarchy.top }
        return try await hierarchy.parent(of: neighbour, client)
    }

    private func noteAssignment(_ entity: EntityDescription) throws -> [PropertyAssignment] {
        guard let note else { return [] }
        guard let attribute = entity.attributes.first(where: { $0.name == "note" && $0.type == .string }) else {
            throw CommandFailure(.usage, "\(entity.name) has no string attribute note: --note cannot set it")
        }
        return [PropertyAssignment(attribute.number, .value(.string(note)))]
    }
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
