import NestModel
import NestSchema

/// Finds the properties of one version of a model in the tables of a store. Reads no objects.
struct AdoptPlanner {
    private let version: AdoptedVersion
    private let source: SourceLayout
    private let layout: ModelLayout
    private let names: ColumnNames
    private var plan = AdoptPlan()
    /// By table in capitals: the columns that something reads.
    private var read: [String: Set<String>] = [:]

    static func plan(_ version: AdoptedVersion, _ layout: ModelLayout, _ source: SourceLayout) -> AdoptPlan {
        var planner = AdoptPlanner(version, layout, source)
        planner.checkEntities()
        guard planner.plan.fits else { return planner.plan }
        for table in layout.entities where !table.isJoin { planner.addObjects(table) }
        guard planner.plan.fits else { return planner.plan }
        for table in layout.entities where table.isJoin { planner.addPairs(table) }
        planner.addUnread()
        return planner.plan
    }

    private init(_ version: AdoptedVersion, _ layout: ModelLayout, _ source: SourceLayout) {
        self.version = version
        self.source = source
        self.layout = layout
        self.names = ColumnNames(version, layout, source)
    }

    /// The store has exactly the entities of the version, with the same parents.
    private mutating func checkEntities() {
        let model = self.version.model
        for entity in model.entities {
            guard let stored = self.source.entities[entity.name] else {
                self.plan.missing.append("the store has no entity \(entity.name)")
                continue
            }
            let parent = entity.parent.flatMap { model.entity($0) }
            guard stored.parent == parent.map({ self.source.entities[$0.name]?.number ?? -1 }) ?? 0 else {
                self.plan.missing.append("the entity \(entity.name) has another parent in the store")
                continue
            }
        }
        for name in self.source.entities.keys.sorted() where model.entity(named: name) == nil {
            self.plan.missing.append("the store has the entity \(name), the version has not")
        }
    }

    private mutating func addObjects(_ layout: EntityLayout) {
        guard let table = self.source.tables["Z\(layout.entity.name.uppercased())"], table.hasPrimaryKey,
            table.columns["Z_ENT"] != nil
        else {
            return self.plan.missing.append("the store has no table of the entity \(layout.entity.name)")
        }
        var kinds: [Int64: EntityLayout.Kind] = [:]
        for kind in layout.kinds { kinds[self.source.entities[kind.entity.name]!.number] = kind }
        var slots: [AdoptPlan.Slot] = []
        for slot in layout.slots.indices {
            if let found = self.slot(slot, layout, table) { slots.append(found) }
        }
        guard slots.count == layout.slots.count else {
            if self.plan.fits { self.plan.missing.append("\(table.name) lacks a destination of \(layout.entity.name)") }
            return
        }
        self.plan.objects.append(.init(layout: layout, table: table, kinds: kinds, slots: slots))
    }

    private mutating func slot(
        _ slot: Int,
        _ layout: EntityLayout,
        _ table: SourceLayout.Table
    ) -> AdoptPlan.Slot? {
        let column = self.names.column(layout.number, layout.properties[slot])
        guard let found = self.column("Z\(column.name)", of: table, property: column.property) else { return nil }
        if column.isContested {
            let owners = layout.kinds.filter { $0.slots.contains(slot) }
            self.plan.contested.append(
                (table, found.name, owners.map { self.source.entities[$0.entity.name]!.number }, column.property)
            )
        }
        switch layout.slots[slot] {
        case .attribute(let attribute):
            if !Self.declared(attribute.type).contains(found.type) {
                self.plan.otherTypes.append(
                    "\(table.name).\(found.name) is \(found.type), \(column.property) \(attribute.type)"
                )
            }
            let isExternal = self.version.externalData.contains(column.property)
            return .attribute(column: found.name, attribute, isExternal: isExternal)
        case .toOne(let relationship, let place):
            guard let destination = self.destination(relationship.destination) else { return nil }
            var order: SourceLayout.Column?
            if place != nil {
                order = self.column("Z_FOK_\(column.name)", of: table, property: "the order of \(column.property)")
                guard order != nil else { return nil }
            }
            var partner: String?
            if layout.partnerSlots[slot] >= 0 {
                let name = self.names.column(self.layout.entities[destination.index].number, relationship.inverse)
                guard let back = destination.table.columns["Z\(name.name)"] else { return nil }
                partner = back.name
            }
            // The number of the destination's entity: `Z_PK` alone identifies an object of a table.
            self.markNumbered(column.name, in: table)
            return .reference(
                .init(column: found.name, order: order?.name, destination: destination, partner: partner)
            )
        }
    }

    private mutating func column(
        _ name: String,
        of table: SourceLayout.Table,
        property: String
    ) -> SourceLayout.Column? {
        guard let found = table.columns[name] else {
            self.plan.missing.append("\(table.name) has no column \(name) for \(property)")
            return nil
        }
        self.read[table.name.uppercased(), default: []].insert(name)
        return found
    }

    /// Core Data keeps the entity of a destination that has sub-entities as `Z9_OWNER`.
    private mutating func markNumbered(_ name: String, in table: SourceLayout.Table) {
        for column in table.columns.keys {
            let parts = NumberedName(column, prefix: "Z")
            if parts?.rest == "_\(name)" { self.read[table.name.uppercased(), default: []].insert(column) }
        }
    }

    private func destination(_ entity: EntityNumber) -> AdoptPlan.Destination? {
        guard let index = self.layout.index(of: entity),
            let table = self.source.tables["Z\(self.layout.entities[index].entity.name.uppercased())"],
            table.hasPrimaryKey, table.columns["Z_ENT"] != nil
        else { return nil }
        let numbers = self.version.model.kinds(of: entity).compactMap { self.source.entities[$0.name]?.number }
        return .init(table: table, index: index, entities: Set(numbers))
    }

    /// The types that Core Data declares for an attribute.
    private static func declared(_ type: AttributeType) -> Set<String> {
        switch type {
        case .string, .uri, .largeText: ["VARCHAR"]
        case .integer, .integer16, .integer32, .boolean: ["INTEGER"]
        case .double, .float: ["FLOAT"]
        case .decimal: ["DECIMAL"]
        case .date: ["TIMESTAMP"]
        case .data, .uuid, .largeData: ["BLOB"]
        }
    }

    // MARK: Pairs

    private mutating func addPairs(_ layout: EntityLayout) {
        let sides = PairSides(layout, self.layout)
        guard let first = self.destination(sides.destination(0)), let second = self.destination(sides.destination(1)),
            let found = PairSearch(self.source, sides, [first, second]).find()
        else {
            return self.plan.missing.append("the store has no pairs of \(sides.name)")
        }
        for column in found.readColumns {
            self.read[found.table.name.uppercased(), default: []].insert(column.uppercased())
            self.markNumbered(String(column.uppercased().dropFirst()), in: found.table)
        }
        self.plan.pairs.append(
            .init(
                layout: layout,
                name: sides.name,
                owner: sides.owner,
                table: found.table,
                columns: found.columns,
                orders: found.orders,
                destinations: [first, second],
                isSymmetric: sides.isSymmetric
            )
        )
    }

    // MARK: What is left

    private static let ownColumns: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
    private static let ownTables: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]

    private mutating func addUnread() {
        for (key, table) in self.source.tables.sorted(by: { $0.key < $1.key }) where !Self.ownTables.contains(key) {
            guard let read = self.read[key] else {
                if !self.plan.objects.contains(where: { $0.table.name == table.name }) {
                    self.plan.unreadTables.append(table.name)
                }
                continue
            }
            let left = self.names.leftOut(key)
            for (key, column) in table.columns.sorted(by: { $0.key < $1.key })
            where !read.contains(key) && !Self.ownColumns.contains(key) && !left.contains(key) {
                self.plan.unreadColumns.append("\(table.name).\(column.name)")
            }
        }
    }
}
