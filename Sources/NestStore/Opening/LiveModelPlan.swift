import NestModel
import NestSchema

/// Finds out whether a store can get another model while clients use it, and how: tables and columns are added, and
/// those that exist stay as they are.
///
/// What the engine has compiled for the old model then stays valid. New properties have higher numbers than all old
/// ones, so the slots and places of a table keep theirs.
struct LiveModelPlan {
    /// A change of a table that exists.
    struct Growth {
        let layout: EntityLayout
        /// The slots that are new.
        let slots: Range<Int>
        /// The quoted names of indexes that the new model does not have.
        let droppedIndexes: [String]
        let newIndexes: [String]

        /// The new attributes with a value for the objects that are there.
        var filledSlots: [Int] {
            self.slots.filter { slot in
                guard case .attribute(let attribute) = self.layout.slots[slot] else { return false }
                return !attribute.defaultValue.isNull || attribute.defaultsToNow
            }
        }

        /// How often each row of the table is written or read.
        var passCount: Int { (self.filledSlots.isEmpty ? 0 : 1) + self.newIndexes.count }
    }

    let old: ModelLayout
    let new: ModelLayout
    private(set) var report = LiveModelReport()
    private(set) var newTables: [EntityLayout] = []
    private(set) var growths: [Growth] = []

    /// `wanted` has the numbers of the stored model, and no faults.
    init(_ connection: Connection, from old: ModelLayout, to wanted: ManagedObjectModel, rowsMax: Int)
        throws(StoreError)
    {
        self.old = old
        self.new = ModelLayout(wanted)
        self.report.modelHash = self.new.modelHash
        self.report.changes = wanted.differences(from: old.model).map { difference in
            ModelChange(text: difference.text, obstacle: Self.obstacle(difference))
        }
        guard self.report.isLive else { return }
        // The differences name everything that does not extend a model; this is the rule that clients rely on.
        guard wanted.extends(old.model) else {
            self.refuse("the model", "it does not extend the store's")
            return
        }
        self.compareTables()
        guard self.report.isLive else { return }
        try self.countRows(connection, rowsMax)
    }

    /// Returns why a change cannot be made live; empty if it can.
    private static func obstacle(_ difference: ModelDifference) -> String {
        if difference.isLive { return "" }
        switch difference.kind {
        case .refused: return "no migration can do it"
        case .removal: return "it removes something"
        case .dependsOnData: return "all objects must be checked"
        case .migratable: return "what clients do depends on it"
        }
    }

    private mutating func refuse(_ what: String, _ obstacle: String) {
        self.report.changes.append(ModelChange(text: what, obstacle: obstacle))
    }

    private mutating func compareTables() {
        for layout in self.new.entities {
            guard let before = self.old.entities.first(where: { $0.number == layout.number }) else {
                self.newTables.append(layout)
                continue
            }
            guard Self.grows(before, layout) else {
                self.refuse("the table \(before.name)", "it must be written anew")
                continue
            }
            let names = (Schema.namedIndexes(before), Schema.namedIndexes(layout))
            let growth = Growth(
                layout: layout,
                slots: before.slots.count..<layout.slots.count,
                droppedIndexes: names.0.map(\.name).filter { name in !names.1.contains { $0.name == name } },
                newIndexes: names.1.filter { index in !names.0.contains { $0.name == index.name } }.map(\.sql)
            )
            if growth.slots.isEmpty, growth.droppedIndexes.isEmpty, growth.newIndexes.isEmpty { continue }
            self.growths.append(growth)
        }
    }

    /// Whether a table has all of its former columns under their names, and its slots and places under their numbers.
    private static func grows(_ before: EntityLayout, _ after: EntityLayout) -> Bool {
        before.name == after.name && before.isJoin == after.isJoin && before.hasKinds == after.hasKinds
            && after.properties.starts(with: before.properties) && after.columns.starts(with: before.columns)
            && after.columnNames.starts(with: before.columnNames)
            && after.placedSlots.starts(with: before.placedSlots)
    }

    /// Counts what commits would wait for.
    private mutating func countRows(_ connection: Connection, _ rowsMax: Int) throws(StoreError) {
        for growth in self.growths where growth.passCount > 0 {
            let statement = try connection.prepare(
                "SELECT count(*) FROM (SELECT 1 FROM \(EntitySQL.quoted(growth.layout.name)) LIMIT \(rowsMax + 1))"
            )
            defer { statement.reset() }
            let count = try statement.step() ? Int(statement.integer(0)) : 0
            self.report.rowCount += count * growth.passCount
        }
        guard self.report.rowCount > rowsMax else { return }
        self.refuse(
            "values and indexes of the objects that are there",
            "they take more than \(rowsMax) rows, and commits would wait"
        )
    }
}
