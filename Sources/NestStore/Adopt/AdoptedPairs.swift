import NestModel
import NestSchema

/// Copies the pairs of a many-to-many relationship, in the order of the objects' `Z_PK`. A pair that occurs twice is
/// written once.
struct AdoptedPairs {
    let plan: AdoptPlan.Pairs
    let table: EntityTable
    let offsets: [Int64]

    private(set) var count: Int64 = 0
    private(set) var dangling = AdoptFindings()

    init(_ plan: AdoptPlan.Pairs, _ table: EntityTable, offsets: [Int64]) {
        self.plan = plan
        self.table = table
        self.offsets = offsets
    }

    private var sql: String {
        let columns = self.plan.columns.map { "\(AdoptSource.quoted($0))" }
        let orders = self.plan.orders.map { AdoptSource.quoted($0) }
        let table = self.plan.table.sql
        let isThere = "WHERE \(columns[0]) NOTNULL AND \(columns[1]) NOTNULL"
        let order = orders.map { ", \($0)" }.joined()
        var pairs = "SELECT \(columns[0]) AS nest_a, \(columns[1]) AS nest_b\(order) FROM \(table) \(isThere)"
        if self.plan.isSymmetric {
            // nest has each pair in both directions.
            pairs += " UNION SELECT \(columns[1]), \(columns[0]) FROM \(table) \(isThere)"
        }
        let entity = { (side: Int, name: String) in
            "(SELECT b.Z_ENT FROM \(self.plan.destinations[side].table.sql) b WHERE b.Z_PK = \(name))"
        }
        return "SELECT p.*, \(entity(0, "p.nest_a")), \(entity(1, "p.nest_b")) FROM (\(pairs)) p ORDER BY 1, 2"
    }

    /// Returns the next free id.
    mutating func copy(_ source: AdoptSource, from first: Int64) throws -> Int64 {
        let rows = try source.rows(self.sql)
        let orders = self.plan.orders.count
        var id = first
        var last: (Int64, Int64)?
        while try rows.next() {
            let keys = (rows.integer(0), rows.integer(1))
            if let last, last == keys { continue }
            last = keys
            guard try self.copyRow(rows, keys, orders, id) else { continue }
            id += 1
        }
        return id
    }

    private mutating func copyRow(_ rows: SourceRows, _ keys: (Int64, Int64), _ orders: Int, _ id: Int64) throws -> Bool
    {
        let key = self.plan.owner == 0 ? keys.0 : keys.1
        for side in 0..<2 {
            let column = Int32(2 + orders + side)
            guard !rows.isNull(column) else {
                self.dangling.add(self.plan.name, "has a pair with an object that does not exist", key)
                return false
            }
            guard self.plan.destinations[side].entities.contains(rows.integer(column)) else {
                self.dangling.add(self.plan.name, "has a pair with an object of another entity", key)
                return false
            }
        }
        var places = SparsePlaces(count: self.plan.layout.placedSlots.count)
        for place in places.indices {
            let column = Int32(2 + place)
            let position =
                rows.isNull(column) ? AdoptedObjects.position(.max) : AdoptedObjects.position(rows.integer(column))
            places[place] = SparsePlace(position: position, stamp: 0)
        }
        let row = ObjectRow(
            entity: self.plan.layout.number,
            revision: Revision(0),
            values: [
                .reference(ObjectID(self.offsets[self.plan.destinations[0].index] + keys.0)),
                .reference(ObjectID(self.offsets[self.plan.destinations[1].index] + keys.1)),
            ],
            places: places
        )
        try self.table.insert(ObjectID(id), row)
        self.count += 1
        return true
    }
}
