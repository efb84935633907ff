import NestModel
import NestSchema

/// Copies the objects of one table.
///
/// The objects come in the order of `Z_PK`, so that both files are read and written from the front to the end. A
/// reference is looked up in the source: whether its object exists, and is of the right entity.
struct AdoptedObjects {
    /// Orders are Core Data's numbers times this, so that there is room between two objects.
    private static let orderShift = 20
    /// Core Data's orders have 32 bits. Others, and objects without one, come last.
    private static let orderMax: Int64 = 1 << 40
    private static let lastPosition: Int64 = 1 << 60

    let plan: AdoptPlan.Objects
    let table: EntityTable
    let values: ValueTable
    /// By table: what is added to `Z_PK`.
    let offsets: [Int64]
    /// The greatest `Z_PK` of the table.
    let keyMax: Int64
    /// The number of the table among the layouts.
    let index: Int
    let files: ExternalFiles
    let options: AdoptOptions

    var refused = AdoptFindings()
    var leftOut = AdoptFindings()
    var dangling = AdoptFindings()
    /// By entity.
    var counts: [EntityNumber: Int64] = [:]
    /// By slot.
    var linkCounts: [Int: Int64] = [:]

    init(
        _ plan: AdoptPlan.Objects,
        _ table: EntityTable,
        _ values: ValueTable,
        index: Int,
        offsets: [Int64],
        keyMax: Int64,
        files: ExternalFiles,
        options: AdoptOptions
    ) {
        self.plan = plan
        self.table = table
        self.values = values
        self.index = index
        self.offsets = offsets
        self.keyMax = keyMax
        self.files = files
        self.options = options
    }

    /// The number of columns of each slot before it.
    private static func width(_ slot: AdoptPlan.Slot) -> Int32 {
        guard case .reference(let reference) = slot else { return 1 }
        return 2 + (reference.partner == nil ? 0 : 1) + (reference.order == nil ? 0 : 1)
    }

    private var sql: String {
        var columns = ["a.Z_PK", "a.Z_ENT"]
        for slot in self.plan.slots {
            switch slot {
            case .attribute(let column, _, _): columns.append("a.\(AdoptSource.quoted(column))")
            case .reference(let reference):
                let column = "a.\(AdoptSource.quoted(reference.column))"
                let destination = "FROM \(reference.destination.table.sql) b WHERE b.Z_PK = \(column)"
                columns += [column, "(SELECT b.Z_ENT \(destination))"]
                if let partner = reference.partner {
                    columns.append("(SELECT b.\(AdoptSource.quoted(partner)) \(destination))")
                }
                if let order = reference.order { columns.append("a.\(AdoptSource.quoted(order))") }
            }
        }
        return "SELECT \(columns.joined(separator: ", ")) FROM \(self.plan.table.sql) a ORDER BY a.Z_PK"
    }

    /// Copies all objects. `progress` is called after every 100,000 of them. The numbers must be those that the ids
    /// were made for: in a damaged file they may come twice, or in another order.
    mutating func copy(_ source: AdoptSource, progress: (Int64) -> Void) throws {
        let rows = try source.rows(self.sql)
        var count: Int64 = 0
        var last: Int64 = 0
        while try rows.next() {
            let key = rows.integer(0)
            guard key > last, key <= self.keyMax else {
                throw AdoptFailure(
                    .damaged,
                    "\(source.path) is damaged: \(self.plan.table.name) has the Z_PK \(key) after \(last)"
                )
            }
            last = key
            try self.copyRow(rows, key)
            count += 1
            if count % 100_000 == 0 { progress(count) }
        }
    }

    /// A row while its slots are set one by one.
    private struct Draft {
        var values: [AttributeValue]
        var places: SparsePlaces
    }

    private mutating func copyRow(_ rows: SourceRows, _ key: Int64) throws {
        let layout = self.plan.layout
        guard let kind = self.plan.kinds[rows.integer(1)] else {
            return self.refused.add(layout.entity.name, "has an object of an unknown entity (Z_ENT)", key)
        }
        guard !kind.entity.isAbstract else {
            return self.refused.add(kind.entity.name, "is abstract, but has an object", key)
        }
        let id = ObjectID(self.offsets[self.index] + key)
        var row = Draft(
            values: [AttributeValue](repeating: .null, count: layout.slots.count),
            places: SparsePlaces(count: layout.placedSlots.count)
        )
        // Slots whose values are refused, and so not missing.
        var refusedSlots: [Int] = []
        var column: Int32 = 2
        for (slot, source) in self.plan.slots.enumerated() {
            defer { column += Self.width(source) }
            guard kind.slots.contains(slot) else { continue }
            switch source {
            case .attribute(_, let shared, let isExternal):
                // An entity may narrow what it inherits.
                let attribute = kind.entity.attribute(shared.number) ?? shared
                if let value = self.value(rows.cell(column), attribute, isExternal, kind, slot, key) {
                    row.values[slot] = try self.placed(value, attribute, id)
                } else {
                    refusedSlots.append(slot)
                }
            case .reference(let reference):
                self.refer(&row, slot, reference, rows, column, kind, key)
            }
        }
        for slot in kind.requiredSlots where row.values[slot].isNull && !refusedSlots.contains(slot) {
            self.refused.add(layout.fullName(slot, kind.number), StoreRules.missingValue, key)
        }
        if kind.mayBeTooLarge, row.values.reduce(0, { $0 + $1.byteCount }) > Limits.objectBytesMax {
            self.refused.add(
                kind.entity.name,
                "has an object with more than \(Limits.objectBytesMax) bytes of text and data",
                key
            )
        }
        self.counts[kind.number, default: 0] += 1
        try self.table.insert(
            id,
            ObjectRow(entity: kind.number, revision: Revision(0), values: row.values, places: row.places)
        )
    }

    /// Puts the bytes of a large value in their table, and returns what its row has; other values as they are.
    private func placed(_ value: AttributeValue, _ attribute: AttributeDescription, _ id: ObjectID) throws(StoreError)
        -> AttributeValue
    {
        guard attribute.type.isLarge, case .data(let bytes) = value else { return value }
        return try self.values.adopt(bytes, attribute, of: id).value
    }

    /// Returns the value that is stored; `nil` if it is refused.
    private mutating func value(
        _ cell: SourceCell,
        _ attribute: AttributeDescription,
        _ isExternal: Bool,
        _ kind: EntityLayout.Kind,
        _ slot: Int,
        _ key: Int64
    ) -> AttributeValue? {
        var read = AdoptedValue.read(cell, attribute, isExternal: isExternal)
        if case .file(let name) = read {
            let bytesMax = attribute.type.isLarge ? Limits.largeValueBytesMax : Limits.valueBytesMax
            read = self.files.read(name, bytesMax: bytesMax)
        }
        if case .value(let value) = read, self.plan.layout.patternFault(slot, value) != nil {
            // Equal faults are counted together, so the text does not have the value.
            read = .invalid("does not match its regular expression")
        }
        let isSkipped: Bool
        let reason: String
        switch read {
        case .value(let value):
            guard value.isNull, !attribute.isOptional, self.options.skipsInvalid,
                !kind.defaultValues.isNull(slot)
            else { return value }
            (isSkipped, reason) = (true, "is required, but has no value: it gets its default")
        case .invalid(let text): (isSkipped, reason) = (self.options.skipsInvalid, text)
        case .tooLarge(let text): (isSkipped, reason) = (self.options.skipsLarge, text)
        case .file: preconditionFailure("a file has no further file")
        }
        let name = self.plan.layout.fullName(slot, kind.number)
        guard isSkipped else {
            self.refused.add(name, reason, key)
            return nil
        }
        self.leftOut.add(name, reason, key)
        return attribute.isOptional ? .null : kind.defaultValues[slot]
    }

    private mutating func refer(
        _ row: inout Draft,
        _ slot: Int,
        _ reference: AdoptPlan.Reference,
        _ rows: SourceRows,
        _ column: Int32,
        _ kind: EntityLayout.Kind,
        _ key: Int64
    ) {
        guard !rows.isNull(column), self.exists(reference, rows, column, slot, kind, key) else {
            guard let root = self.plan.layout.root, root.relationship == self.plan.layout.properties[slot] else {
                return
            }
            // An object without an owner is below the root, as in nest.
            row.values[slot] = .reference(root.object)
            return self.place(&row, slot, Self.lastPosition)
        }
        row.values[slot] = .reference(
            ObjectID(self.offsets[reference.destination.index] + rows.integer(column))
        )
        self.linkCounts[slot, default: 0] += 1
        guard reference.order != nil else { return }
        let order = column + (reference.partner == nil ? 2 : 3)
        self.place(&row, slot, rows.isNull(order) ? Self.lastPosition : Self.position(rows.integer(order)))
    }

    /// Whether a reference leads to an object of the right entity that, if both sides are to-one, leads back.
    private mutating func exists(
        _ reference: AdoptPlan.Reference,
        _ rows: SourceRows,
        _ column: Int32,
        _ slot: Int,
        _ kind: EntityLayout.Kind,
        _ key: Int64
    ) -> Bool {
        let fault: String
        if rows.isNull(column + 1) {
            fault = "leads to an object that does not exist"
        } else if !reference.destination.entities.contains(rows.integer(column + 1)) {
            fault = "leads to an object of another entity"
        } else if reference.partner != nil, rows.isNull(column + 2) || rows.integer(column + 2) != key {
            fault = "leads to an object that does not lead back"
        } else {
            return true
        }
        self.dangling.add(self.plan.layout.fullName(slot, kind.number), fault, key)
        return false
    }

    static func position(_ order: Int64) -> Int64 {
        (-Self.orderMax...Self.orderMax).contains(order) ? order << Self.orderShift : Self.lastPosition
    }

    private func place(_ row: inout Draft, _ slot: Int, _ position: Int64) {
        let place = self.plan.layout.placeOfSlot[slot]
        if place >= 0 { row.places[place] = SparsePlace(position: position, stamp: 0) }
    }
}
