import NestModel
import NestSchema

/// The SQL of one entity's table.
struct EntitySQL {
    let table: String
    /// By slot.
    let columns: [String]
    /// The columns of position and stamp, by place: the index in `EntityLayout.placedSlots`.
    private let placeColumns: [(position: String, placed: String)]
    private let placedSlots: [Int]
    private let hasKinds: Bool

    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    init(_ layout: EntityLayout) {
        self.table = Self.quoted(layout.name)
        self.columns = layout.columnNames.map(Self.quoted)
        self.placedSlots = layout.placedSlots
        self.placeColumns = layout.placedSlots.map { slot in
            (
                Self.quoted("nest_\(layout.columnNames[slot])_position"),
                Self.quoted("nest_\(layout.columnNames[slot])_placed")
            )
        }
        self.hasKinds = layout.hasKinds
    }

    /// The columns of a row in the order in which `EntityTable` reads and binds them.
    var allColumns: [String] {
        ["nest_revision"] + (self.hasKinds ? ["nest_entity"] : []) + self.columns
            + self.placeColumns.flatMap { [$0.position, $0.placed] }
    }

    func position(_ place: Int) -> String { self.placeColumns[place].position }
    func placed(_ place: Int) -> String { self.placeColumns[place].placed }

    /// Returns the column that orders the rows of an owner: a position, or the id in an unordered relationship.
    private func order(_ slot: Int) -> String {
        self.placedSlots.firstIndex(of: slot).map { self.placeColumns[$0].position } ?? "id"
    }

    private func list(_ projection: [Int]) -> String {
        projection.map { ", " + self.columns[$0] }.joined()
    }

    var select: String { "SELECT \(self.allColumns.joined(separator: ", ")) FROM \(self.table) WHERE id = ?1" }

    /// Selects the rows with ids in a range, by id; the id is the last column.
    var rows: String {
        "SELECT \(self.allColumns.joined(separator: ", ")), id FROM \(self.table) WHERE id BETWEEN ?1 AND ?2 "
            + "ORDER BY id"
    }

    /// Inserts a number of rows. `FAIL` does not undo the rows before one that fails, for which SQLite would have to
    /// keep a journal: the caller rolls back anyway.
    func insert(_ rowCount: Int) -> String {
        let columns = ["id"] + self.allColumns
        let rows = (0..<rowCount).map { row in
            "(" + columns.indices.map { "?\(row * columns.count + $0 + 1)" }.joined(separator: ", ") + ")"
        }
        return "INSERT OR FAIL INTO \(self.table) (\(columns.joined(separator: ", "))) VALUES "
            + rows.joined(separator: ", ")
    }

    var delete: String { "DELETE FROM \(self.table) WHERE id = ?1" }

    var deleteRange: String { "DELETE FROM \(self.table) WHERE id BETWEEN ?1 AND ?2" }

    /// Gives the rows of a range of ids with one revision another.
    var stampRange: String {
        "UPDATE \(self.table) SET nest_revision = ?4 WHERE id BETWEEN ?1 AND ?2 AND nest_revision = ?3"
    }

    func reference(_ slot: Int) -> String { "SELECT \(self.columns[slot]) FROM \(self.table) WHERE id = ?1" }

    var entity: String { "SELECT nest_entity FROM \(self.table) WHERE id = ?1" }

    /// Selects the first two objects, by id, whose slots hold given values. `isNull`: whether the value of each slot is
    /// null. The other values are bound from 1, in the order of their slots.
    func equal(_ slots: [Int], isNull: [Bool], entities: [EntityNumber]?, hidden: IDRuns) -> String {
        var terms: [String] = []
        var parameter = 1
        for (slot, isNull) in zip(slots, isNull) {
            if isNull {
                terms.append("\(self.columns[slot]) IS NULL")
            } else {
                terms.append("\(self.columns[slot]) = ?\(parameter)")
                parameter += 1
            }
        }
        if let entities {
            terms.append("nest_entity IN (\(entities.map { "\($0.rawValue)" }.joined(separator: ", ")))")
        }
        terms += hidden.exclusions(of: "id")
        return "SELECT id FROM \(self.table) WHERE \(terms.joined(separator: " AND ")) ORDER BY id LIMIT 2"
    }

    var exists: String { "SELECT 1 FROM \(self.table) WHERE id = ?1" }

    func update(slots: [Int], places: [Int]) -> String {
        var sets = ["nest_revision = ?2"]
        var index = 3
        for slot in slots {
            sets.append("\(self.columns[slot]) = ?\(index)")
            index += 1
        }
        for place in places {
            let columns = self.placeColumns[place]
            sets.append("\(columns.position) = ?\(index), \(columns.placed) = ?\(index + 1)")
            index += 2
        }
        return "UPDATE \(self.table) SET \(sets.joined(separator: ", ")) WHERE id = ?1"
    }

    func owned(_ slot: Int) -> String {
        let order = self.order(slot)
        let position = order == "id" ? "0" : order
        return "SELECT id, \(position) FROM \(self.table) WHERE \(self.columns[slot]) = ?1 ORDER BY \(order)"
    }

    func ownedReversed(_ slot: Int) -> String {
        "SELECT id FROM \(self.table) WHERE \(self.columns[slot]) = ?1 ORDER BY \(self.order(slot)) DESC"
    }

    /// Selects owner and object for owners with ids in a range, by owner, then in order.
    func ownedByRange(_ slot: Int) -> String {
        let owner = self.columns[slot]
        return """
            SELECT \(owner), id FROM \(self.table) WHERE \(owner) BETWEEN ?1 AND ?2 ORDER BY \(owner), \(self.order(slot))
            LIMIT ?3
            """
    }

    func anyOwned(_ slot: Int) -> String { "SELECT 1 FROM \(self.table) WHERE \(self.columns[slot]) = ?1 LIMIT 1" }

    func countOwned(_ slot: Int) -> String { "SELECT count(*) FROM \(self.table) WHERE \(self.columns[slot]) = ?1" }

    func countOwnedUpTo(_ slot: Int) -> String {
        "SELECT count(*) FROM (SELECT 1 FROM \(self.table) WHERE \(self.columns[slot]) = ?1 LIMIT ?2)"
    }

    /// `isFirst`: from the front; otherwise after a position.
    func page(_ slot: Int, _ projection: [Int], isFirst: Bool) -> String {
        let order = self.order(slot)
        let start = isFirst ? "" : "AND \(order) > ?3 "
        return """
            SELECT id, \(order)\(self.list(projection)) FROM \(self.table) WHERE \(self.columns[slot]) = ?1 \(start)\
            ORDER BY \(order) LIMIT ?2
            """
    }

    func values(_ projection: [Int]) -> String {
        let columns = projection.isEmpty ? "1" : projection.map { self.columns[$0] }.joined(separator: ", ")
        return "SELECT \(columns) FROM \(self.table) WHERE id = ?1"
    }

    func neighbour(_ which: EntityTable.Neighbour, _ place: Int) -> String {
        let position = self.placeColumns[place].position
        let tail =
            switch which {
            case .first: "ORDER BY \(position) ASC"
            case .last: "ORDER BY \(position) DESC"
            case .before: "AND \(position) < ?2 ORDER BY \(position) DESC"
            case .after: "AND \(position) > ?2 ORDER BY \(position) ASC"
            }
        return "SELECT id, \(position) FROM \(self.table) WHERE \(self.owner(place)) = ?1 \(tail) LIMIT 1"
    }

    func range(_ place: Int) -> String {
        let position = self.placeColumns[place].position
        return """
            SELECT id, \(position) FROM \(self.table) WHERE \(self.owner(place)) = ?1 AND \(position) BETWEEN ?2 AND ?3
            ORDER BY \(position) LIMIT ?4
            """
    }

    func atIndex(_ place: Int) -> String {
        let position = self.placeColumns[place].position
        return """
            SELECT id, \(position) FROM \(self.table) WHERE \(self.owner(place)) = ?1 AND id <> ?2 ORDER BY \(position)
            LIMIT 1 OFFSET ?3
            """
    }

    func reposition(_ place: Int) -> String {
        "UPDATE \(self.table) SET \(self.placeColumns[place].position) = ?2 WHERE id = ?1"
    }

    private func owner(_ place: Int) -> String { self.columns[self.placedSlots[place]] }
}
