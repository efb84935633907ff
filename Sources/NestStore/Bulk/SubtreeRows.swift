import NestModel
import NestProtocol
import NestSchema

/// Makes the objects of an import from its rows in preorder. Keeps only the ids of the current row's ancestors; if they
/// are many, most of them are in a file.
struct SubtreeRows {
    let layout: EntityLayout
    let kind: EntityLayout.Kind
    /// By column of the import.
    let slots: [Int]
    let place: Int
    let ownerSlot: Int
    private let orderStep: Int64
    /// An object with no other values than those that every row gets.
    let blank: ObjectRow
    private let blankValues: [AttributeValue]
    /// The last row of each depth: its id and, on top of it, the position of its last child.
    private let path: SpilledStack
    private var pathCount = 0
    private static let noChild: Int64 = -1
    private(set) var count = 0

    /// `revision`, `time`: those of the objects.
    init(
        _ layout: EntityLayout,
        _ kind: EntityLayout.Kind,
        slots: [Int],
        place: Int,
        revision: Revision,
        time: Int64,
        orderStep: Int64,
        _ memory: BulkMemory
    ) {
        self.layout = layout
        self.kind = kind
        self.slots = slots
        self.place = place
        self.ownerSlot = layout.placedSlots[place]
        self.orderStep = orderStep
        self.path = SpilledStack(memory)
        var blank = ObjectRow(
            entity: kind.number,
            revision: revision,
            values: kind.defaultValues,
            places: SparsePlaces(count: layout.placedSlots.count)
        )
        for slot in kind.nowSlots { blank.values[slot] = .date(time) }
        self.blank = blank
        self.blankValues = blank.values.decoded
    }

    /// Returns the object of the next row, which has this index in `source`; of depth 0, without an owner. Call `enter`
    /// with its id before the next row.
    mutating func row(_ index: Int, of source: SubtreeColumns) throws(StoreError) -> ObjectRow {
        var values = self.blankValues
        for (column, slot) in self.slots.enumerated() {
            values[slot] = try self.kept(source.value(index, column), slot)
        }
        var places = self.blank.places
        if source.depths[index] > 0 {
            let (parent, position) = try self.nextBelow(source.depths[index] - 1)
            values[self.ownerSlot] = .reference(parent)
            places[self.place] = SparsePlace(position: position, stamp: self.blank.revision.rawValue)
        }
        let row = ObjectRow(entity: self.kind.number, revision: self.blank.revision, values: values, places: places)
        try self.refuseMissing(row)
        return row
    }

    mutating func enter(_ id: ObjectID, depth: Int) throws(StoreError) {
        // A new row of depth 0 ends the tree before it.
        if depth == 0 { try self.leavePath(to: 0) }
        try self.path.push(id.rawValue)
        try self.path.push(Self.noChild)
        self.pathCount += 1
        self.count += 1
    }

    /// Returns the last row of a depth, which becomes the end of the path, and a position after all its children.
    mutating func nextBelow(_ depth: Int) throws(StoreError) -> (above: ObjectID, position: Int64) {
        try self.leavePath(to: depth + 1)
        // `SubtreeChunkReader` refuses a row more than one level below the row before it.
        guard let last = try self.path.pop(), let above = try self.path.pop() else {
            preconditionFailure("a row below depth 0 has a parent")
        }
        let position = last == Self.noChild ? 0 : last + self.orderStep
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

    // MARK: Checks

    private func kept(_ value: AttributeValue, _ slot: Int) throws(StoreError) -> AttributeValue {
        guard case .attribute(let attribute) = self.layout.slots[slot] else {
            preconditionFailure("only attributes are imported")
        }
        if attribute.type.isLarge, !value.isNull {
            throw self.refusal(
                slot,
                .type,
                "is \(attribute.type), whose bytes are not in the rows: import the objects without it, then send it to "
                    + "each with PUT_VALUE ('nestc put')"
            )
        }
        if let fault = attribute.fault(value) ?? self.layout.patternFault(slot, value) {
            throw self.refusal(slot, fault.reason, fault.text)
        }
        return attribute.kept(value)
    }

    private func refuseMissing(_ row: ObjectRow) throws(StoreError) {
        if self.kind.mayBeTooLarge, let fault = ObjectGraph.sizeFault(self.kind, nil, row) {
            throw ObjectGraph.refusal([fault])
        }
        for slot in self.kind.requiredSlots where row.values.isNull(slot) && slot != self.ownerSlot {
            throw self.refusal(slot, .required, "is required")
        }
    }

    private func refusal(_ slot: Int, _ reason: ValidationFault.Reason, _ text: String) -> StoreError {
        ObjectGraph.refusal([
            ValidationFault(
                entity: self.kind.number,
                property: self.layout.properties[slot],
                reason: reason,
                message: "row \(self.count + 1): \(self.layout.fullName(slot, self.kind.number)) \(text)"
            )
        ])
    }
}

extension StagedSubtree {
    /// Calls `body` with the rows in their order, each as an index in a chunk.
    func forEachRow(
        valueCount: Int,
        _ body: (SubtreeColumns, Int) throws(StoreError) -> Void
    ) throws(StoreError) {
        var cursor = Cursor(self, valueCount: valueCount)
        while let (chunk, rows) = try cursor.next(atMost: .max) {
            for row in rows { try body(chunk, row) }
        }
    }

    /// Reads the rows in their order.
    struct Cursor {
        private let staged: StagedSubtree
        private var reader: SubtreeChunkReader
        private var offset = 0
        private var chunk = SubtreeColumns()
        private var index = 0

        init(_ staged: StagedSubtree, valueCount: Int) {
            self.staged = staged
            self.reader = SubtreeChunkReader(valueCount: valueCount)
        }

        /// Returns the next rows, which are in one chunk; `nil` at the end. Precondition: `count` is greater than 0.
        mutating func next(atMost count: Int) throws(StoreError) -> (chunk: SubtreeColumns, rows: Range<Int>)? {
            while self.index == self.chunk.rowCount {
                guard let (chunk, next) = try self.staged.chunks.chunk(at: self.offset) else { return nil }
                self.offset = next
                do throws(DecodingFailure) {
                    self.chunk = try self.reader.columns(of: chunk)
                } catch {
                    throw .refused(error.code, error.description)
                }
                self.index = 0
            }
            let rows = self.index..<self.index + min(count, self.chunk.rowCount - self.index)
            self.index = rows.upperBound
            return (self.chunk, rows)
        }
    }
}
