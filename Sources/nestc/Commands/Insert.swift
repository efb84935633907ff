import ArgumentParser
import NestClient
import NestDocuments
import NestModel
import NestProtocol

struct Insert: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Insert objects of any entity and print their ids.",
        discussion: """
            Examples:
              nestc insert Tag name=red
              nestc insert Phone number="555 12" user=12      a to-one relationship: an id
              nestc insert User name=Ann tags=3,4             a to-many relationship: ids
              nestc insert Song title=Intro album=7 --first   first of album 7's songs
              nestc insert Tag - < tags.jsonl                 one JSON object a line

            The attribute's type determines how a value is read: yes/no, numbers, dates (2026-11-21T09:30:00Z, now), \
            base64 for data. name:=null sets no value. With '-', each line of standard input is an object like \
            {"name":"red"}; a to-many relationship is an array of ids. Each command is one transaction and one undo \
            entry, except with --batch.
            """
    )

    @Argument(help: ArgumentHelp("The entity.", valueName: "entity"), completion: ModelCompletion.entities)
    var entity: String

    @Argument(
        help: ArgumentHelp("The values. '-' reads objects from standard input.", valueName: "name=value"),
        completion: ModelCompletion.assignments
    )
    var assignments: [String] = []

    @OptionGroup var placing: PlaceOptions

    @Option(
        name: .customLong("in"),
        help: ArgumentHelp("The relationship of the position, if there are several.", valueName: "name")
    )
    var placeIn: String?

    @Option(
        help: ArgumentHelp("With '-': store every n objects as one transaction.", valueName: "n")
    )
    var batch: Int?

    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    private var readsInput: Bool { self.assignments == ["-"] }

    func validate() throws {
        if self.placeIn != nil, !self.placing.isGiven { throw ValidationError("--in needs a position, like --first") }
        guard let batch else { return }
        guard self.readsInput else { throw ValidationError("--batch needs '-', objects from standard input") }
        guard (1...Limits.mutationsPerTransactionMax).contains(batch) else {
            throw ValidationError("--batch must be 1 to \(Limits.mutationsPerTransactionMax)")
        }
        if self.writing.idempotency.key != nil {
            throw ValidationError("--key is for one transaction, but --batch makes several")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let entity = try model.requireConcreteEntity(self.entity)
        var steps = InsertSteps(model: model, entity: entity, place: self.placing, placeIn: self.placeIn)
        let start = await StartObject.owner(of: entity, in: model, client)
        guard self.readsInput else {
            var values = try ObjectValues(self.assignments, entity)
            values.complete(with: start)
            _ = try steps.add(values)
            return try await self.store(&steps, client, &output)
        }
        var lines = try JSONLines()
        while let members = try lines.next() {
            var values = try lines.naming { try ObjectValues(members, entity) }
            values.complete(with: start)
            if self.batch.map({ steps.objectCount >= $0 }) ?? false { try await self.store(&steps, client, &output) }
            if try lines.naming({ try steps.add(values) }) { continue }
            guard self.batch != nil else { throw Self.tooMany(lines.line) }
            try await self.store(&steps, client, &output)
            _ = try steps.add(values)
        }
        try await self.store(&steps, client, &output)
    }

    private static func tooMany(_ line: Int) -> CommandFailure {
        let limits = "\(Limits.mutationsPerTransactionMax) steps, \(Limits.frameBytesMax) bytes"
        return CommandFailure(
            .badInput,
            "line \(line): the objects do not fit in one transaction (\(limits)); nothing was stored. "
                + "Use --batch 1000 to store them in several"
        )
    }

    private func store(_ steps: inout InsertSteps, _ client: NestClient, _ output: inout Output) async throws {
        guard steps.objectCount > 0 else { return }
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            mutations: steps.take()
        )
        let receipt = try await client.transaction(transaction)
        if self.global.json {
            try output.line(receipt.json)
        } else {
            for id in receipt.insertedIDs { try output.line("\(id)") }
        }
        // The printed objects are stored, even if the server refuses a later batch.
        try output.flush()
    }
}

/// The steps of a transaction that inserts objects.
struct InsertSteps {
    private let model: ManagedObjectModel
    private let entity: EntityDescription
    private let placing: PlaceOptions
    private let placeIn: String?
    private var mutations: [Mutation] = []
    private var byteCount = 0
    private(set) var objectCount = 0

    init(model: ManagedObjectModel, entity: EntityDescription, place: PlaceOptions, placeIn: String?) {
        self.model = model
        self.entity = entity
        self.placing = place
        self.placeIn = placeIn
    }

    /// The bytes of a transaction's frame that are reserved for its name and key.
    private static let reserveBytes = 1_024

    /// Adds the step that inserts an object, and the steps that relate it. Returns `false` and adds nothing if the
    /// transaction has no room for them. The first object is always added, so that the server can report its faults.
    mutating func add(_ values: ObjectValues) throws -> Bool {
        var values = values
        var placements: [Placement] = []
        if self.placing.isGiven {
            let previous = self.objectCount == 0 ? nil : ObjectReference.inserted(self.objectCount)
            let place = self.placing.place(after: previous)
            placements = [try values.takePlacement(at: place, in: self.placeIn, self.entity, self.model)]
        }
        let insert = Mutation.insert(entity: self.entity.number, values: values.assignments, placements: placements)
        let steps = [insert] + values.relatingSteps(of: .inserted(self.objectCount + 1))
        var bytes = ByteWriter()
        for step in steps { bytes.write(mutation: step) }
        let fits =
            self.mutations.count + steps.count <= Limits.mutationsPerTransactionMax
            && self.byteCount + bytes.count <= Limits.frameBytesMax - Self.reserveBytes
        guard fits || self.objectCount == 0 else { return false }
        self.mutations += steps
        self.byteCount += bytes.count
        self.objectCount += 1
        return true
    }

    mutating func take() -> [Mutation] {
        defer { self = InsertSteps(model: self.model, entity: self.entity, place: self.placing, placeIn: self.placeIn) }
        return self.mutations
    }
}
