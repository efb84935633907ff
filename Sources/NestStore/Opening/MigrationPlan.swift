import NestModel
import NestSchema

/// Finds out what a migration would do, without changing the store. Reads tables that the model changes; memory does
/// not grow with the store.
struct MigrationPlan {
    let connection: Connection
    let path: String
    let old: ModelLayout
    let new: ModelLayout
    let head: Revision
    private(set) var report = MigrationReport()
    /// The tables that are written anew; those without old rows are new.
    private(set) var rebuilt: [(layout: EntityLayout, rows: MigratedRows?)] = []

    /// `wanted` has the numbers of `stored`.
    init(
        _ connection: Connection,
        path: String,
        from stored: ManagedObjectModel,
        to wanted: ManagedObjectModel
    ) throws(StoreError) {
        let faults = wanted.faults + wanted.patternFaults
        guard faults.isEmpty else { throw .invalidModel(faults) }
        self.connection = connection
        self.path = path
        self.old = ModelLayout(stored)
        self.new = ModelLayout(wanted)
        guard let newest = try Journal(connection: connection, layout: self.old).newest() else {
            throw .corrupt(path: path, reason: "the journal is empty")
        }
        self.head = newest.revision
        self.report.differences = wanted.differences(from: stored)
        for difference in self.report.differences {
            if difference.kind == .refused { self.report.obstacles.append(difference.text) }
            guard let part = difference.removedPart else { continue }
            self.report.removals.append(try self.content(of: part, difference.text))
        }
        self.report.removals += try self.tokensWithoutSubtree()
        // Some refused differences leave old rows without a place in the new tables.
        guard self.report.obstacles.isEmpty else { return }
        for layout in self.new.entities {
            let before = self.counterpart(layout)
            let rows = before.map { MigratedRows($0, layout, self.old, self.new, head: self.head) }
            if let before, let rows, !rows.changesContent,
                Self.statements(before, self.old) == Self.statements(layout, self.new)
            {
                continue
            }
            self.rebuilt.append((layout, rows))
            if let before, !before.isJoin { self.report.rewrittenCount += try self.count(before, "1") }
        }
        try self.findObstacles()
    }

    /// Throws what prevents the migration.
    func refuse(_ removals: MigrationRemovals) throws(StoreError) {
        var obstacles = self.report.obstacles
        if removals == .none { obstacles += self.report.differences.filter { $0.removedPart != nil }.map(\.text) }
        let losses = removals == .unused ? self.report.losses.map(\.text) : []
        guard obstacles.isEmpty, losses.isEmpty else {
            throw .modelDiffers(path: self.path, differences: obstacles, losses: losses)
        }
    }

    /// The old tables that have no place in the new model.
    var dropped: [EntityLayout] {
        self.old.entities.filter { old in !self.new.entities.contains { $0.number == old.number } }
    }

    /// Returns the table from which a new table gets its rows.
    func counterpart(_ layout: EntityLayout) -> EntityLayout? {
        self.old.entities.first { $0.number == layout.number }
    }

    private static func statements(_ layout: EntityLayout, _ model: ModelLayout) -> [String] {
        [Schema.table(layout, model, name: layout.name)] + Schema.indexes(layout)
    }

    // MARK: What is lost

    /// The condition of all rows but a root object that was never changed: nest has made it.
    private static func isMade(_ layout: EntityLayout) -> String {
        layout.root.map { "NOT (id = \($0.object) AND nest_revision = 0)" } ?? "1"
    }

    private func count(_ layout: EntityLayout, _ condition: String) throws(StoreError) -> Int64 {
        try self.number("SELECT count(*) FROM \(EntitySQL.quoted(layout.name)) WHERE \(condition)")
    }

    private func number(_ sql: String, _ rows: [MigratedRows] = []) throws(StoreError) -> Int64 {
        let statement = try self.connection.prepare(sql)
        defer { statement.reset() }
        for rows in rows { rows.bind(statement) }
        return try statement.step() ? statement.integer(0) : 0
    }

    private func content(of part: ModelDifference.RemovedPart, _ what: String) throws(StoreError)
        -> MigrationReport.Loss
    {
        switch part {
        case .entity(let entity):
            guard let layout = self.old[entity] else { return .init(what: what, count: 0, unit: .objects) }
            let isOwn = layout.hasKinds ? "nest_entity = \(entity.rawValue)" : "1"
            let count = try self.count(layout, "\(isOwn) AND \(Self.isMade(layout))")
            return .init(what: what, count: count, unit: .objects)
        case .attribute(let entity, let property):
            guard let layout = self.old[entity], let slot = layout.slot(of: property) else {
                return .init(what: what, count: 0, unit: .values)
            }
            var terms = ["\(EntitySQL(layout).columns[slot]) IS NOT NULL", Self.isMade(layout)]
            if layout.hasKinds {
                // Objects whose entity is gone too are counted there; entities below may keep the attribute.
                let losers = layout.kinds.map(\.number).filter { kind in
                    self.new.model.entity(kind).map { $0.attribute(property) == nil } ?? false
                }
                terms.append("nest_entity IN (\(losers.map { "\($0.rawValue)" }.joined(separator: ", ")))")
            }
            let count = try self.count(layout, terms.joined(separator: " AND "))
            return .init(what: what, count: count, unit: .values)
        case .relationship(let entity, let property):
            return .init(what: what, count: try self.linkCount(entity, property), unit: .links)
        case .order(let entity, let property):
            return .init(what: what, count: try self.linkCount(entity, property), unit: .positions)
        }
    }

    private func linkCount(_ entity: EntityNumber, _ property: PropertyNumber) throws(StoreError) -> Int64 {
        guard let layout = self.old[entity] else { return 0 }
        if let pairs = layout.manyToMany(property), let table = self.old[pairs.join] {
            // A relationship that is its own inverse has each pair in both directions.
            let columns = EntitySQL(table).columns
            return try self.count(table, pairs.isSymmetric ? "\(columns[0]) <= \(columns[1])" : "1")
        }
        if let toMany = layout.toMany(property), let table = self.old[toMany.destination] {
            return try self.count(table, "\(EntitySQL(table).columns[toMany.inverseSlot]) IS NOT NULL")
        }
        guard let slot = layout.slot(of: property) else { return 0 }
        return try self.count(layout, "\(EntitySQL(layout).columns[slot]) IS NOT NULL")
    }

    /// Tokens that are confined by a relationship that is gone: they may do nothing from then on.
    private func tokensWithoutSubtree() throws(StoreError) -> [MigrationReport.Loss] {
        // A store of an old format has no tokens.
        guard try self.number("SELECT count(*) FROM sqlite_schema WHERE name = 'nest_token'") > 0 else { return [] }
        var losses: [MigrationReport.Loss] = []
        for token in try Store.tokens(self.connection, path: self.path) {
            let grant = token.description.grant
            guard let confinement = grant.confinement, self.old.subtree(confinement) != nil else { continue }
            if self.new.subtree(confinement) != nil {
                guard try self.loses(confinement.root, of: confinement.entity) else { continue }
            }
            let what = "the sub-tree of token \(token.description.number) (\(grant.name)) is gone"
            losses.append(.init(what: what, count: 1, unit: .tokens))
        }
        return losses
    }

    /// Whether the entity of an object is gone. `entity`: one of its table.
    private func loses(_ object: ObjectID, of entity: EntityNumber) throws(StoreError) -> Bool {
        guard let layout = self.old[entity], layout.hasKinds else { return false }
        let gone = layout.kinds.map(\.number).filter { self.new.model.entity($0) == nil }
        guard !gone.isEmpty else { return false }
        let list = gone.map { "\($0.rawValue)" }.joined(separator: ", ")
        return try self.count(layout, "id = \(object.rawValue) AND nest_entity IN (\(list))") > 0
    }

    // MARK: What the new model does not allow

    private mutating func findObstacles() throws(StoreError) {
        let mayViolate = self.report.differences.contains { $0.kind == .dependsOnData || $0.removedPart != nil }
        guard mayViolate else { return }
        for layout in self.new.entities where !layout.isJoin {
            guard let before = self.counterpart(layout) else { continue }
            let rows = MigratedRows(before, layout, self.old, self.new, head: self.head)
            for kind in layout.kinds {
                try self.check(kind, layout, rows)
                for slot in layout.slots.indices where kind.slots.contains(slot) {
                    try self.checkPattern(slot, kind, layout, rows)
                }
            }
            for uniqueness in layout.uniquenesses { try self.check(uniqueness, layout, rows) }
            for slot in layout.slots.indices { try self.checkCircles(slot, layout, before) }
        }
    }

    private mutating func check(_ kind: EntityLayout.Kind, _ layout: EntityLayout, _ rows: MigratedRows)
        throws(StoreError)
    {
        let isOwn = layout.hasKinds ? "nest_entity = \(kind.number.rawValue)" : "1"
        let name = kind.entity.name
        let objectCount = try self.number("SELECT count(*) FROM \(rows.table) WHERE \(isOwn)", [rows])
        guard objectCount > 0 else { return }
        if kind.entity.isAbstract {
            self.report.obstacles.append("\(name) becomes abstract, but has \(objectCount) objects")
        }
        let notRoot = layout.root.map { "id <> \($0.object)" } ?? "1"
        let sql = EntitySQL(layout)
        for slot in kind.requiredSlots {
            let isMissing = "\(isOwn) AND \(notRoot) AND \(sql.columns[slot]) IS NULL"
            let missing = try self.number("SELECT count(*) FROM \(rows.table) WHERE \(isMissing)", [rows])
            guard missing > 0 else { continue }
            let property = layout.fullName(slot, kind.number)
            self.report.obstacles.append(
                "\(property) is required and has no default, but \(missing) objects would have no value"
            )
        }
        let known = self.old.model.entity(kind.number)
        for relationship in kind.entity.relationships where relationship.isToMany && relationship.minimumCount > 0 {
            if known?.relationship(relationship.number) == nil {
                guard known != nil, !relationship.admits(count: 0) else { continue }
                self.report.obstacles.append(
                    "\(name).\(relationship.name) is required, but would be empty in \(objectCount) objects"
                )
            } else {
                try self.checkCount(relationship, name, isOwn, layout, rows)
            }
        }
    }

    /// Checks the texts of an attribute that has another regular expression than before.
    private mutating func checkPattern(
        _ slot: Int,
        _ kind: EntityLayout.Kind,
        _ layout: EntityLayout,
        _ rows: MigratedRows
    ) throws(StoreError) {
        guard case .attribute(let attribute) = layout.slots[slot], let pattern = attribute.pattern,
            self.old.model.entity(kind.number)?.attribute(attribute.number)?.pattern != pattern
        else { return }
        let isOwn = layout.hasKinds ? "nest_entity = \(kind.number.rawValue)" : "1"
        let column = EntitySQL(layout).columns[slot]
        let sql = "SELECT \(column) FROM \(rows.table) WHERE \(isOwn) AND \(column) NOTNULL"
        let statement = try self.connection.prepare(sql)
        defer { statement.reset() }
        rows.bind(statement)
        var count = 0
        var first = ""
        while try statement.step() {
            guard let fault = layout.patternFault(slot, .string(statement.text(0))) else { continue }
            if count == 0 { first = fault.text }
            count += 1
        }
        guard count > 0 else { return }
        let what = count == 1 ? "1 value does" : "\(count) values do"
        let property = layout.fullName(slot, kind.number)
        self.report.obstacles.append("\(property) has a new regular expression, but \(what) not match: one \(first)")
    }

    /// Checks the least count of a relationship that may lose objects whose entity is gone.
    private mutating func checkCount(
        _ relationship: RelationshipDescription,
        _ entity: String,
        _ isOwn: String,
        _ layout: EntityLayout,
        _ owners: MigratedRows
    ) throws(StoreError) {
        let side: (table: EntityLayout?, slot: Int)
        if let pairs = layout.manyToMany(relationship.number) {
            side = (self.new[pairs.join], pairs.ownerSlot)
        } else if let toMany = layout.toMany(relationship.number) {
            side = (self.new[toMany.destination], toMany.inverseSlot)
        } else {
            return
        }
        guard let table = side.table, let before = self.counterpart(table) else { return }
        let rows = MigratedRows(before, table, self.old, self.new, head: self.head)
        guard rows.changesContent else { return }
        let owner = EntitySQL(table).columns[side.slot]
        let least = relationship.isOptional ? 1 : 0
        let few = try self.number(
            """
            SELECT count(*) FROM \(owners.table(["id"] + (layout.hasKinds ? ["nest_entity"] : []))) o
            LEFT JOIN (SELECT \(owner) AS owner, count(*) AS n FROM \(rows.table([owner])) GROUP BY \(owner)) c
                ON c.owner = o.id
            WHERE \(isOwn) AND ifnull(c.n, 0) BETWEEN \(least) AND \(relationship.minimumCount - 1)
            """
        )
        guard few > 0 else { return }
        self.report.obstacles.append(
            "\(entity).\(relationship.name) must have at least \(relationship.minimumCount) objects, but \(few) objects would have "
                + "fewer"
        )
    }

    private mutating func check(_ uniqueness: EntityLayout.Uniqueness, _ layout: EntityLayout, _ rows: MigratedRows)
        throws(StoreError)
    {
        let sql = EntitySQL(layout)
        let columns = uniqueness.slots.map { sql.columns[$0] }
        var terms = columns.map { "\($0) IS NOT NULL" }
        if layout.hasKinds {
            let list = uniqueness.entities.map { "\($0.rawValue)" }.joined(separator: ", ")
            terms.append("nest_entity IN (\(list))")
        }
        let statement = try self.connection.prepare(
            """
            SELECT min(id), max(id), count(*) FROM \(rows.table) WHERE \(terms.joined(separator: " AND "))
            GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 3
            """
        )
        defer { statement.reset() }
        rows.bind(statement)
        let names = uniqueness.slots.map { layout.propertyName(layout.properties[$0]) ?? "" }.joined(separator: ", ")
        while try statement.step() {
            let count = statement.integer(2)
            self.report.obstacles.append(
                "\(layout.name): \(names) must be unique, but \(count) objects have the same values "
                    + "(\(statement.integer(0)), \(statement.integer(1))…)"
            )
        }
    }

    /// A one-way relationship may have circles; one with an inverse that is not hidden is a hierarchy and has none.
    private mutating func checkCircles(_ slot: Int, _ layout: EntityLayout, _ before: EntityLayout) throws(StoreError) {
        guard case .toOne(let relationship, _) = layout.slots[slot], layout.partnerSlots[slot] < 0,
            self.new[relationship.destination] === layout, !self.new.model.isOneWay(relationship),
            let known = before.slot(of: relationship.number), case .toOne(let earlier, _) = before.slots[known],
            self.old.model.isOneWay(earlier)
        else { return }
        let sql = EntitySQL(before)
        let owner = sql.columns[known]
        // Everything that is in no circle, and below none, is reached from the objects without an owner.
        let count = try self.number(
            """
            WITH RECURSIVE reached(id) AS (
                SELECT id FROM \(sql.table) WHERE \(owner) IS NULL
                UNION ALL SELECT t.id FROM \(sql.table) t JOIN reached ON t.\(owner) = reached.id
            )
            SELECT (SELECT count(*) FROM \(sql.table)) - (SELECT count(*) FROM reached)
            """
        )
        guard count > 0 else { return }
        let name = layout.relationshipName(relationship.number)
        self.report.obstacles.append(
            "\(name) becomes a hierarchy, but \(count) objects refer to each other in circles, or are below them: clear "
                + "\(name) in one object of each circle"
        )
    }
}
