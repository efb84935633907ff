import NestModel
import NestProtocol
import NestSchema

/// Inserts whole sub-trees, each as one change.
extension ObjectGraph {
    /// Inserts a staged sub-tree. Its rows get consecutive ids in their order.
    package func importSubtree(_ staged: StagedSubtree) throws(StoreError) -> (
        first: ObjectID, count: Int, label: String?
    ) {
        let request = staged.request
        let table = try self.table(request.entity)
        let layout = table.layout
        guard !layout.isJoin, !layout.kind(request.entity).entity.isAbstract else {
            throw .refused(.unknownEntity, "the model has no entity number \(request.entity.rawValue) to import")
        }
        let kind = layout.kind(request.entity)
        guard let slot = layout.slot(of: request.placement.relationship),
            case .toOne(let relationship, let place?) = layout.slots[slot],
            kind.slots.contains(slot), self.layout.model.isKind(request.entity, of: relationship.destination)
        else {
            throw .refused(
                .unknownProperty,
                "\(kind.entity.name) has no ordered relationship number "
                    + "\(request.placement.relationship.rawValue) to itself"
            )
        }
        let owner = try self.resolve(request.placement.owner)
        guard try self.isObject(owner, of: relationship.destination) else { throw Self.notFound(owner) }
        guard staged.rowCount > 0 else { throw .refused(.invalid, "the sub-tree has no rows") }
        let slots = try request.properties.map { (property) throws(StoreError) in
            guard let slot = layout.slot(of: property), kind.slots.contains(slot), case .attribute = layout.slots[slot]
            else {
                throw .refused(
                    .unknownProperty,
                    "\(kind.entity.name) has no attribute number \(property.rawValue)"
                )
            }
            return slot
        }
        guard Set(slots).count == slots.count else { throw .refused(.invalid, "a property is named twice") }
        var importer = SubtreeImporter(
            graph: self,
            table: table,
            kind: kind,
            slots: slots,
            place: place,
            owner: owner,
            at: request.placement.place,
            rowCount: staged.rowCount
        )
        try importer.read(staged)
        guard let first = importer.first else { throw .refused(.invalid, "the sub-tree has no rows") }
        return (first, importer.count, importer.label)
    }
}

/// Inserts rows in preorder. Keeps only the ids of the current row's ancestors; if they are many, most of them are in a
/// file.
private struct SubtreeImporter {
    let graph: ObjectGraph
    let table: EntityTable
    let kind: EntityLayout.Kind
    let slots: [Int]
    let place: Int
    let owner: ObjectID
    let at: Place
    let rowCount: Int
    let blank: ObjectRow
    let ownerSlot: Int

    /// The last row of each depth: its id and, on top of it, the position of its last child.
    let path: SpilledStack
    var pathCount = 0
    static let noChild: Int64 = -1
    /// The last row of depth 0.
    var lastTop: ObjectID?
    /// The position of the next row of depth 0, and the distance to the one after it, if there is room for all of them
    /// between their neighbours.
    var room: (next: Int64, step: Int64)?
    var first: ObjectID?
    var label: String?
    var count = 0

    init(
        graph: ObjectGraph,
        table: EntityTable,
        kind: EntityLayout.Kind,
        slots: [Int],
        place: Int,
        owner: ObjectID,
        at: Place,
        rowCount: Int
    ) {
        self.graph = graph
        self.table = table
        self.kind = kind
        self.slots = slots
        self.place = place
        self.owner = owner
        self.at = at
        self.rowCount = rowCount
        self.path = SpilledStack(graph.memory)
        self.ownerSlot = table.layout.placedSlots[place]
        var blank = ObjectRow(
            entity: kind.number,
            revision: graph.revision,
            values: kind.defaultValues,
            places: [SparsePlace](repeating: .none, count: table.layout.placedSlots.count)
        )
        for slot in kind.nowSlots { blank.values[slot] = .date(graph.time) }
        self.blank = blank
    }

    mutating func read(_ staged: StagedSubtree) throws(StoreError) {
        var reader = SubtreeChunkReader(valueCount: self.slots.count)
        var offset = 0
        while let (chunk, next) = try staged.chunks.chunk(at: offset) {
            offset = next
            let rows: [SubtreeRow]
            do throws(DecodingFailure) {
                rows = try reader.rows(of: chunk)
            } catch {
                throw .refused(error.code, error.description)
            }
            for row in rows { try self.insert(row) }
        }
    }

    private mutating func insert(_ source: SubtreeRow) throws(StoreError) {
        var row = self.blank
        for (index, slot) in self.slots.enumerated() { row.values[slot] = try self.kept(source.values[index], slot) }
        try self.refuseMissing(row)
        let id = try self.graph.newObjectID()
        let parent: ObjectID
        let position: SparsePlace
        if source.depth == 0 {
            parent = self.owner
            position = try self.topPlace()
        } else {
            let (above, next) = try self.nextBelow(source.depth - 1)
            parent = above
            position = SparsePlace(position: next, stamp: self.graph.revision.rawValue)
        }
        row.values[self.ownerSlot] = .reference(parent)
        row.places[self.place] = position
        try self.table.insert(id, row)
        try self.graph.recorder.record(row.entity, id, before: nil, after: row, isBulk: true)
        self.graph.recorder.notePlaced(self.table.layout.number, id, owner: parent, place: self.place)
        if source.depth == 0 {
            // A new row of depth 0 ends the tree before it.
            try self.leavePath(to: 0)
            self.lastTop = id
        }
        try self.path.push(id.rawValue)
        try self.path.push(Self.noChild)
        self.pathCount += 1
        if self.first == nil {
            self.first = id
            self.label = self.kind.labelSlot.flatMap { row.values[$0].stringValue }
        }
        self.count += 1
    }

    /// Returns the last row of a depth, which becomes the end of the path, and a position after all its children.
    private mutating func nextBelow(_ depth: Int) throws(StoreError) -> (above: ObjectID, position: Int64) {
        try self.leavePath(to: depth + 1)
        // `SubtreeChunkReader` refuses a row more than one level below the row before it.
        guard let last = try self.path.pop(), let above = try self.path.pop() else {
            preconditionFailure("a row below depth 0 has a parent")
        }
        let position = last == Self.noChild ? 0 : last + self.graph.recorder.orderStep
        try self.path.push(above)
        try self.path.push(position)
        return (ObjectID(above), position)
    }

    private mutating func leavePath(to count: Int) throws(StoreError) {
        while self.pathCount > count {
            _ = try self.path.pop()
            _ = try self.path.pop()
            self.pathCount -= 1
        }
    }

    /// Returns the position of the next row of depth 0. The first row goes where the request specifies, every other row
    /// directly after the previous one.
    private mutating func topPlace() throws(StoreError) -> SparsePlace {
        if let (next, step) = self.room {
            self.room = (next + step, step)
            return SparsePlace(position: next, stamp: self.graph.revision.rawValue)
        }
        let previous: Place = self.lastTop.map { .after(.object($0)) } ?? self.at
        // Appending needs no search for a gap after the previous row.
        let place: Place = self.at == .last ? .last : previous
        let found = try self.graph.place(self.table, place: self.place, owner: self.owner, at: place, moving: nil)
        if self.lastTop == nil, place != .last { try self.makeRoom(after: found.position) }
        return found
    }

    private mutating func makeRoom(after position: Int64) throws(StoreError) {
        let order = SparseOrder(
            table: self.table,
            place: self.place,
            owner: self.owner,
            recorder: self.graph.recorder
        )
        guard let right = try order.neighbour(after: position, excluding: nil) else { return }
        let step = (right.position - position) / Int64(self.rowCount + 1)
        if step > 0 { self.room = (position + step, step) }
    }

    private func kept(_ value: AttributeValue, _ slot: Int) throws(StoreError) -> AttributeValue {
        guard case .attribute(let attribute) = self.table.layout.slots[slot] else {
            preconditionFailure("only attributes are imported")
        }
        if let fault = attribute.fault(value) { throw self.refusal(slot, fault.reason, fault.text) }
        return attribute.kept(value)
    }

    private func refuseMissing(_ row: ObjectRow) throws(StoreError) {
        if self.kind.mayBeTooLarge {
            self.graph.checkSize(self.kind, nil, row)
            if !self.graph.faults.isEmpty { throw ObjectGraph.refusal(self.graph.faults) }
        }
        for slot in self.kind.requiredSlots where row.values[slot].isNull && slot != self.ownerSlot {
            throw self.refusal(slot, .required, "is required")
        }
    }

    private func refusal(_ slot: Int, _ reason: ValidationFault.Reason, _ text: String) -> StoreError {
        ObjectGraph.refusal([
            ValidationFault(
                entity: self.kind.number,
                property: self.table.layout.properties[slot],
                reason: reason,
                message: "row \(self.count + 1): \(self.table.layout.fullName(slot, self.kind.number)) \(text)"
            )
        ])
    }
}
