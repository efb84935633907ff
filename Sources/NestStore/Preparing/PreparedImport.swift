import NestModel
import NestProtocol
import NestSchema

/// An import whose rows are hidden until a request puts those of depth 0 under their owner.
final class PreparedImport: PreparedWrite {
    let first: ObjectID
    let rowCount: Int
    /// The label of the first row.
    private(set) var label: String?
    /// The rows of depth 0, which have no owner yet.
    private(set) var tops: [(id: ObjectID, row: ObjectRow)] = []
    private(set) var blocks: PreparedBlocks

    private let table: EntityTable
    private let labelSlot: Int?
    private var cursor: StagedSubtree.Cursor
    private var rows: SubtreeRows
    let plainRows: PlainRows?

    var ids: IDRuns { IDRuns(self.first, count: self.rowCount) }
    var hidden: IDRuns { self.ids }
    var hiddenAfter: IDRuns { IDRuns() }
    let insertedAt: Revision?

    /// `nil`: the import must run as one piece, perhaps because it will be refused.
    init?(_ staged: StagedSubtree, _ store: Store, time: Int64) throws(StoreError) {
        let request = staged.request
        guard let index = store.layout.index(of: request.entity) else { return nil }
        let table = store.tables[index]
        let layout = table.layout
        guard !layout.isJoin, layout.uniquenesses.isEmpty, !store.layout.hasCounts,
            let ownerSlot = layout.slot(of: request.placement.relationship), layout.placeOfSlot[ownerSlot] >= 0,
            case .toOne(let relationship, _) = layout.slots[ownerSlot],
            store.layout.model.isKind(request.entity, of: relationship.destination),
            request.placement.owner.rawValue > 0,
            try store.objects.object(ObjectID(request.placement.owner.rawValue)) != nil,
            staged.topCount ?? 0 <= Limits.preparedTopsMax,
            Int64(staged.rowCount) <= Limits.objectIDMax - store.nextObjectID
        else { return nil }
        let kind = layout.kind(request.entity)
        let slots = request.properties.compactMap { layout.slot(of: $0) }
        guard !kind.entity.isAbstract, kind.slots.contains(ownerSlot), slots.count == request.properties.count,
            Set(slots).count == slots.count,
            slots.allSatisfy({ if case .attribute = layout.slots[$0] { kind.slots.contains($0) } else { false } })
        else { return nil }
        self.first = ObjectID(store.nextObjectID)
        self.rowCount = staged.rowCount
        self.table = table
        self.labelSlot = kind.labelSlot
        self.cursor = StagedSubtree.Cursor(staged, valueCount: slots.count)
        self.blocks = PreparedBlocks(store.journal)
        self.insertedAt = store.head
        // Its own revision is not known yet. The objects did not exist at this one, so that it is old enough.
        self.rows = SubtreeRows(
            layout,
            kind,
            slots: slots,
            place: layout.placeOfSlot[ownerSlot],
            revision: store.head,
            time: time,
            orderStep: store.orderStep,
            store.bulkMemory
        )
        self.plainRows = PlainRows(self.rows, table)
    }

    func prepare(_ count: Int) throws(StoreError) -> Preparation.State {
        var left = count
        while left > 0 {
            guard let (chunk, rows) = try self.cursor.next(atMost: left) else {
                guard self.rows.count == self.rowCount else { return .impossible }
                try self.blocks.flush()
                return .done
            }
            guard self.rows.count + rows.count <= self.rowCount else { return .impossible }
            for row in rows { guard try self.insert(row, of: chunk) else { return .impossible } }
            left -= rows.count
        }
        return .open
    }

    /// Inserts the next row. Returns `false` if the import must run as one piece.
    private func insert(_ index: Int, of chunk: SubtreeColumns) throws(StoreError) -> Bool {
        let id = ObjectID(self.first.rawValue + Int64(self.rows.count))
        let depth = chunk.depths[index]
        if depth > 0, let plainRows, let valueCount = plainRows.valueCount(index, of: chunk) {
            let (owner, position) = try self.rows.nextBelow(depth - 1)
            let place = PlainRows.Place(id: id, owner: owner, position: position)
            try plainRows.insert(index, of: chunk, valueCount, at: place, &self.blocks)
            try self.rows.enter(id, depth: depth)
            return true
        }
        let row = try self.rows.row(index, of: chunk)
        try self.table.insert(id, row)
        if depth > 0 {
            try self.blocks.append(ChangedRow(entity: row.entity, id: id, before: nil, after: row))
        } else {
            guard self.tops.count < Limits.preparedTopsMax else { return false }
            self.tops.append((id, row))
        }
        if id == self.first { self.label = self.labelSlot.flatMap { row.values[$0].stringValue } }
        try self.rows.enter(id, depth: depth)
        return true
    }
}
