import NestModel
import NestSchema

/// The rows of a table after a migration, as SQL expressions over its old rows. The checks before a migration read what
/// the migration writes.
struct MigratedRows {
    let columns: [String]
    private let expressions: [String]
    private let source: String
    private let condition: String
    /// The parameters of the expressions.
    private let values: [AttributeValue]
    /// Whether rows go, or lose or get a value in a column that stays.
    let changesContent: Bool

    /// Both layouts have the same number.
    init(_ before: EntityLayout, _ after: EntityLayout, _ old: ModelLayout, _ new: ModelLayout, head: Revision) {
        var compiler = Compiler(before: before, after: after, old: old, new: new, head: head)
        compiler.compile()
        self.columns = compiler.columns
        self.expressions = compiler.expressions
        self.source = compiler.source.table
        self.condition = compiler.terms.isEmpty ? "1" : compiler.terms.joined(separator: " AND ")
        self.values = compiler.values
        self.changesContent = compiler.changesContent
    }

    /// The rows as a table in parentheses.
    var table: String { self.table(self.columns) }

    /// Some columns of the rows, as a table in parentheses.
    func table(_ columns: [String]) -> String {
        let list = zip(self.columns, self.expressions).filter { columns.contains($0.0) }.map { "\($1) AS \($0)" }
        return "(SELECT \(list.joined(separator: ", ")) FROM \(self.source) WHERE \(self.condition))"
    }

    /// Writes the rows into a table that has their columns.
    func write(into table: String, _ connection: Connection) throws(StoreError) {
        let statement = try connection.prepare(
            """
            INSERT INTO \(table) (\(self.columns.joined(separator: ", ")))
            SELECT \(self.expressions.joined(separator: ", ")) FROM \(self.source) WHERE \(self.condition)
            """
        )
        self.bind(statement)
        try statement.run()
    }

    /// Binds the parameters of `table`.
    func bind(_ statement: Statement) {
        for (index, value) in self.values.enumerated() { statement.bind(Int32(index + 1), value) }
    }
}

private struct Compiler {
    let before: EntityLayout
    let after: EntityLayout
    let old: ModelLayout
    let new: ModelLayout
    let head: Revision
    let source: EntitySQL
    private let target: EntitySQL
    var columns = ["id", "nest_revision"]
    var expressions = ["id", "nest_revision"]
    /// The conditions of the old rows that stay.
    var terms: [String] = []
    var values: [AttributeValue] = []
    var changesContent = false

    init(before: EntityLayout, after: EntityLayout, old: ModelLayout, new: ModelLayout, head: Revision) {
        self.before = before
        self.after = after
        self.old = old
        self.new = new
        self.head = head
        self.source = EntitySQL(before)
        self.target = EntitySQL(after)
    }

    mutating func compile() {
        if self.after.hasKinds {
            self.add("nest_entity", self.before.hasKinds ? "nest_entity" : "\(self.before.number.rawValue)")
        }
        let gone = self.before.isJoin ? [] : self.before.kinds.filter { self.new.model.entity($0.number) == nil }
        if !gone.isEmpty {
            self.terms.append("nest_entity NOT IN (\(Self.list(gone.map(\.number))))")
            self.changesContent = true
        }
        var owners: [String] = []
        for slot in self.after.slots.indices {
            let known = self.before.slot(of: self.after.properties[slot])
            let expression = known.map { self.known($0, slot) } ?? self.filling(slot, self.owners(slot)) ?? "NULL"
            self.add(self.target.columns[slot], expression)
            owners.append(expression)
        }
        for (place, slot) in self.after.placedSlots.enumerated() { self.addPlace(place, slot, owner: owners[slot]) }
    }

    private mutating func add(_ column: String, _ expression: String) {
        self.columns.append(column)
        self.expressions.append(expression)
    }

    /// Returns the value of a column that stays: null in objects that lose the property, and in references to objects
    /// that go. A pair goes with each of its objects.
    private mutating func known(_ known: Int, _ slot: Int) -> String {
        var expression = self.source.columns[known]
        if case .toOne(let relationship, _) = self.before.slots[known], let gone = self.goneObjects(relationship) {
            self.changesContent = true
            if self.before.isJoin {
                self.terms.append("\(expression) NOT IN (\(gone))")
            } else {
                expression = "CASE WHEN \(expression) NOT IN (\(gone)) THEN \(expression) END"
            }
        }
        guard !self.before.isJoin, self.before.hasKinds else { return expression }
        let owners = self.before.kinds.filter { $0.slots.contains(known) && self.new.model.entity($0.number) != nil }
        let keepers = owners.filter { self.after.kind($0.number).slots.contains(slot) }
        if keepers.count < owners.count {
            self.changesContent = true
            expression = "CASE WHEN nest_entity IN (\(Self.list(keepers.map(\.number)))) THEN \(expression) END"
        }
        // The property has moved up: entities that did not have it get it as a new one.
        let gainers = self.owners(slot).filter { gainer in !owners.contains { $0.number == gainer } }
        guard let filling = self.filling(slot, gainers) else { return expression }
        self.changesContent = true
        return "CASE WHEN nest_entity IN (\(Self.list(gainers))) THEN \(filling) ELSE \(expression) END"
    }

    /// Selects the ids of the destination's objects whose entity is gone; `nil` if there can be none.
    private func goneObjects(_ relationship: RelationshipDescription) -> String? {
        guard let table = self.old[relationship.destination], table.hasKinds else { return nil }
        let gone = self.old.model.kinds(of: relationship.destination).map(\.number)
            .filter { self.new.model.entity($0) == nil }
        guard !gone.isEmpty else { return nil }
        return "SELECT id FROM \(EntitySQL.quoted(table.name)) WHERE nest_entity IN (\(Self.list(gone)))"
    }

    private mutating func addPlace(_ place: Int, _ slot: Int, owner: String) {
        let columns = [self.target.position(place), self.target.placed(place)]
        var expressions = ["NULL", "NULL"]
        if let known = self.before.slot(of: self.after.properties[slot]) {
            let old = self.before.placeOfSlot[known]
            if old >= 0 {
                expressions = [self.source.position(old), self.source.placed(old)]
            } else {
                // A relationship that had no order starts with the order of the ids.
                let index = "row_number() OVER (PARTITION BY \(owner) ORDER BY id)"
                expressions = ["\(index) * \(Int64(1) << 32)", "\(self.head)"]
            }
            if old < 0 || owner != self.source.columns[known] {
                expressions = expressions.map { "CASE WHEN \(owner) IS NOT NULL THEN \($0) END" }
            }
        }
        for (column, expression) in zip(columns, expressions) { self.add(column, expression) }
    }

    /// Returns the stored entities whose objects have the property from now on.
    private func owners(_ slot: Int) -> [EntityNumber] {
        self.before.kinds.map(\.number)
            .filter { self.new.model.entity($0) != nil && self.after.kind($0).slots.contains(slot) }
    }

    /// Returns the value that existing objects of these entities get for a property that is new in them; `nil`: none.
    private mutating func filling(_ slot: Int, _ owners: [EntityNumber]) -> String? {
        guard case .attribute(let attribute) = self.after.slots[slot], !owners.isEmpty else { return nil }
        let value: String
        if !attribute.defaultValue.isNull {
            self.values.append(attribute.kept(attribute.defaultValue))
            value = "?\(self.values.count)"
        } else if attribute.defaultsToNow {
            value = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
        } else {
            return nil
        }
        guard self.before.hasKinds else { return value }
        return "CASE WHEN nest_entity IN (\(Self.list(owners))) THEN \(value) END"
    }

    private static func list(_ entities: [EntityNumber]) -> String {
        entities.map { "\($0.rawValue)" }.joined(separator: ", ")
    }
}
