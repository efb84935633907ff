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
        var rows = SubtreeRows(
            table.layout,
            kind,
            slots: slots,
            place: place,
            revision: self.revision,
            time: self.time,
            orderStep: self.recorder.orderStep,
            self.memory
        )
        var places = TopPlaces(graph: self, table: table, place: place, owner: owner, at: request.placement.place)
        if let preparation = self.preparation, let prepared = preparation.write as? PreparedImport {
            return try self.link(prepared, preparation, &places)
        }
        places.countMax = staged.rowCount
        var imported: (first: ObjectID, label: String?)?
        try staged.forEachRow(valueCount: slots.count) { (chunk, index) throws(StoreError) in
            var row = try rows.row(index, of: chunk)
            let id = try self.newObjectID()
            let depth = chunk.depths[index]
            if depth == 0 { try places.place(id, &row) }
            try rows.enter(id, depth: depth)
            try table.insert(id, row)
            try self.recorder.record(row.entity, id, before: nil, after: row, isBulk: true)
            if let parent = row.values.reference(rows.ownerSlot) {
                self.recorder.notePlaced(table.layout.number, id, owner: parent, place: place)
            }
            if imported == nil { imported = (id, kind.labelSlot.flatMap { row.values[$0].stringValue }) }
        }
        guard let imported else { throw .refused(.invalid, "the sub-tree has no rows") }
        return (imported.first, rows.count, imported.label)
    }

    /// Puts the rows of depth 0 of a prepared import under their owner.
    private func link(
        _ prepared: PreparedImport,
        _ preparation: Preparation,
        _ places: inout TopPlaces
    ) throws(StoreError) -> (first: ObjectID, count: Int, label: String?) {
        try self.recorder.adopt(preparation)
        places.countMax = prepared.tops.count
        for (id, hidden) in prepared.tops {
            var row = hidden
            row.revision = self.revision
            try places.place(id, &row)
            try places.table.update(id, from: hidden, to: row)
            try self.recorder.record(row.entity, id, before: nil, after: row, isBulk: true)
            self.recorder.notePlaced(places.table.layout.number, id, owner: places.owner, place: places.place)
        }
        return (prepared.first, prepared.rowCount, prepared.label)
    }
}

/// The positions of the rows of depth 0 of an import. The first row goes where the request specifies, every other row
/// directly after the previous one.
private struct TopPlaces {
    let graph: ObjectGraph
    let table: EntityTable
    let place: Int
    let owner: ObjectID
    let at: Place
    /// There are at most this many rows.
    var countMax = 0
    private var last: ObjectID?
    /// The position of the next row, and the distance to the one after it, if there is room for all of them between
    /// their neighbours.
    private var room: (next: Int64, step: Int64)?

    init(graph: ObjectGraph, table: EntityTable, place: Int, owner: ObjectID, at: Place) {
        self.graph = graph
        self.table = table
        self.place = place
        self.owner = owner
        self.at = at
    }

    mutating func place(_ id: ObjectID, _ row: inout ObjectRow) throws(StoreError) {
        row.values[self.table.layout.placedSlots[self.place]] = .reference(self.owner)
        row.places[self.place] = try self.next()
        self.last = id
    }

    private mutating func next() throws(StoreError) -> SparsePlace {
        if let (next, step) = self.room {
            self.room = (next + step, step)
            return SparsePlace(position: next, stamp: self.graph.revision.rawValue)
        }
        let previous: Place = self.last.map { .after(.object($0)) } ?? self.at
        // Appending needs no search for a gap after the previous row.
        let place: Place = self.at == .last ? .last : previous
        let found = try self.graph.place(self.table, place: self.place, owner: self.owner, at: place, moving: nil)
        if self.last == nil, place != .last { try self.makeRoom(after: found.position) }
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
        let step = (right.position - position) / Int64(self.countMax + 1)
        if step > 0 { self.room = (position + step, step) }
    }
}
