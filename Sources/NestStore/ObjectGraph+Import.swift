import NestModel

extension ObjectGraph {
    /// Inserts a staged sub-tree. Its rows get ids in their order, one after the other.
    package func importSubtree(_ staged: StagedSubtree) throws -> (first: ObjectID, count: Int, label: String?) {
        let request = staged.request
        let table = try self.table(request.entity)
        let layout = table.layout
        guard let slot = layout.slot(of: request.placement.relationship),
            case .toOne(let relationship, let place?) = layout.slots[slot],
            relationship.destination == request.entity
        else {
            throw NestError(
                .unknownProperty,
                "\(layout.name) has no ordered relationship number \(request.placement.relationship.rawValue) to itself"
            )
        }
        let owner = try self.resolve(request.placement.owner)
        guard try table.exists(owner) else { throw Self.notFound(owner) }
        guard staged.rowCount > 0 else { throw NestError(.invalid, "the sub-tree has no rows") }
        let slots = try request.properties.map { property in
            guard let slot = layout.slot(of: property), case .attribute = layout.slots[slot] else {
                throw NestError(
                    .unknownProperty,
                    "\(layout.name) has no attribute number \(property.rawValue)"
                )
            }
            return slot
        }
        guard Set(slots).count == slots.count else { throw NestError(.invalid, "a property is named twice") }
        var importer = SubtreeImporter(
            graph: self,
            table: table,
            slots: slots,
            place: place,
            owner: owner,
            at: request.placement.place
        )
        try importer.read(staged)
        guard let first = importer.first else { throw NestError(.invalid, "the sub-tree has no rows") }
        return (first, importer.count, importer.label)
    }
}

/// Inserts rows in preorder: keeps the ids of the row's ancestors, nothing else.
private struct SubtreeImporter {
    let graph: ObjectGraph
    let table: EntityTable
    let slots: [Int]
    let place: Int
    let owner: ObjectID
    let at: Place
    let blank: ObjectRow
    let ownerSlot: Int

    /// The last row of each depth, with the position of its last child.
    var path: [(id: ObjectID, lastChild: Int64?)] = []
    var first: ObjectID?
    var label: String?
    var count = 0

    init(graph: ObjectGraph, table: EntityTable, slots: [Int], place: Int, owner: ObjectID, at: Place) {
        self.graph = graph
        self.table = table
        self.slots = slots
        self.place = place
        self.owner = owner
        self.at = at
        self.ownerSlot = table.layout.placedSlots[place]
        self.blank = ObjectRow(
            revision: graph.revision,
            values: table.layout.defaultValues,
            places: [SparsePlace](repeating: .none, count: table.layout.placedSlots.count)
        )
    }

    mutating func read(_ staged: StagedSubtree) throws {
        var reader = SubtreeChunkReader(valueCount: self.slots.count)
        var offset = 0
        while let (chunk, next) = try staged.chunks.chunk(at: offset) {
            offset = next
            var rows: [SubtreeRow] = []
            do {
                try ByteReader.read(chunk) { (bytes) throws(SubtreeReadError<Never>) in
                    try reader.read(&bytes) { (row) throws(Never) in rows.append(row) }
                }
            } catch .malformed(let failure) {
                throw NestError(failure.code, failure.description)
            }
            for row in rows { try self.insert(row) }
        }
    }

    private mutating func insert(_ source: SubtreeRow) throws {
        var row = self.blank
        for (index, slot) in self.slots.enumerated() { row.values[slot] = source.values[index] }
        try self.validate(row)
        let id = try self.graph.newObjectID()
        let parent: ObjectID
        let position: SparsePlace
        if source.depth == 0 {
            parent = self.owner
            position = try self.topPlace()
        } else {
            parent = self.path[source.depth - 1].id
            let last = self.path[source.depth - 1].lastChild
            let next = last.map { $0 + self.graph.recorder.orderStep } ?? 0
            self.path[source.depth - 1].lastChild = next
            position = SparsePlace(position: next, stamp: self.graph.revision.rawValue)
        }
        row.values[self.ownerSlot] = .reference(parent)
        row.places[self.place] = position
        try self.table.insert(id, row)
        let entity = self.table.layout.number
        try self.graph.recorder.record(entity, id, before: nil, after: row, isBulk: true)
        self.graph.recorder.notePlaced(entity, id, owner: parent, place: self.place)
        self.path.removeSubrange(source.depth...)
        self.path.append((id, nil))
        if self.first == nil {
            self.first = id
            self.label = self.table.layout.labelSlot.flatMap { row.values[$0].stringValue }
        }
        self.count += 1
    }

    /// The first row of depth 0 goes where the request says, every other right after the one before.
    private func topPlace() throws -> SparsePlace {
        let previous: Place = self.path.first.map { .after(.object($0.id)) } ?? self.at
        // Appending needs no look for a gap after the one before.
        let place: Place = self.at == .last ? .last : previous
        return try self.graph.place(self.table, place: self.place, owner: self.owner, at: place, moving: nil)
    }

    private func validate(_ row: ObjectRow) throws {
        for (slot, description) in self.table.layout.slots.enumerated() {
            guard case .attribute(let attribute) = description else { continue }
            let value = row.values[slot]
            let isRight = value.isNull ? attribute.isOptional : attribute.type.admits(value)
            guard isRight, ObjectGraph.byteCount(value) <= Limits.valueBytesMax else {
                let name = "\(self.table.layout.name).\(attribute.name)"
                let fault =
                    value.isNull
                    ? "\(name) is required"
                    : isRight
                        ? "\(name) is over \(Limits.valueBytesMax) bytes"
                        : "\(name) is \(attribute.type), not \(value.typeName)"
                throw NestError(.validationFailed, "row \(self.count + 1): \(fault)")
            }
        }
    }
}
