import NestModel
import NestSchema

/// Makes a store of nest from a store of Core Data.
struct Adoption {
    private let source: AdoptSource
    private let choice: VersionChoice
    private let options: AdoptOptions
    private let progress: (CheckStep) -> Void
    /// The path of the new store under its temporary name.
    private let partial: String
    private var report: AdoptReport
    private var refused = AdoptFindings()
    private var dangling = AdoptFindings()
    private var leftOut = AdoptFindings()
    /// By table: what is added to `Z_PK`, and the greatest `Z_PK`.
    private var offsets: [Int64] = []
    private var keysMax: [Int64] = []
    private var stepNumber = 0

    init(
        _ source: AdoptSource,
        _ versions: [AdoptedVersion],
        partial: String,
        options: AdoptOptions,
        progress: @escaping (CheckStep) -> Void
    ) throws {
        self.source = source
        self.options = options
        self.progress = progress
        self.partial = partial
        let layout = try SourceLayout(source)
        self.choice = try VersionChoice.choose(versions, named: options.version, layout, path: source.path)
        let plan = self.choice.plan
        self.report = AdoptReport(
            version: self.choice.version.name,
            versionReason: self.choice.reason,
            unreadColumns: plan.unreadColumns,
            unreadTables: try plan.unreadTables.map {
                .init(name: $0, count: try source.integer("SELECT count(*) FROM \(AdoptSource.quoted($0))") ?? 0)
            }
        )
    }

    private var layout: ModelLayout { self.choice.layout }

    private mutating func begin(_ name: String) {
        self.stepNumber += 1
        self.progress(CheckStep(name: name, number: self.stepNumber, count: self.layout.entities.count + 2))
    }

    /// Fills a new store under its temporary name. Returns the report; if something in it forbids the adoption, the
    /// file is of no use.
    mutating func run(historyID: Identifier128) throws -> AdoptReport {
        try self.checkContested()
        let store = try AdoptedStore(self.partial, self.layout)
        defer { try? store.close() }
        try store.access { try self.fill(store, historyID) }
        try store.close()
        try self.source.checkUnchanged()
        self.report.refused = self.refused.list
        self.report.dangling = self.dangling.list
        self.report.leftOut = self.leftOut.list
        return self.report
    }

    private mutating func fill(_ store: AdoptedStore, _ historyID: Identifier128) throws {
        try store.begin(historyID: historyID)
        var next = try self.findOffsets(from: try store.insertRoots())
        let files = ExternalFiles(store: self.source.path)
        for plan in self.choice.plan.objects { try self.copy(plan, store, files) }
        for plan in self.choice.plan.pairs { next = try self.copy(plan, store, from: next) }
        guard next <= Limits.objectIDMax else {
            throw AdoptFailure(.damaged, "\(self.source.path) is damaged: it has a Z_PK that is no id")
        }
        self.begin("indexes")
        try store.finishTables()
        try store.beginJournal(nextObjectID: next)
        self.begin("rules")
        try self.check(store)
        Failpoint.adoptionWritten.pass()
        try store.commit()
    }

    /// Core Data's names of columns do not always say whose they are.
    private func checkContested() throws {
        for contested in self.choice.plan.contested {
            let owners = contested.owners.map { "\($0)" }.joined(separator: ", ")
            let key = try self.source.integer(
                """
                SELECT Z_PK FROM \(contested.table.sql) WHERE \(AdoptSource.quoted(contested.column)) NOTNULL
                AND Z_ENT NOT IN (\(owners)) LIMIT 1
                """
            )
            guard let key else { continue }
            throw AdoptFailure(
                .otherModel,
                "\(self.source.path): \(contested.table.name).\(contested.column) should have \(contested.property), but the "
                    + "object with the Z_PK \(key), of another entity, has a value in it"
            )
        }
    }

    /// Gives each table a range of ids, and returns the first id after all of them.
    private mutating func findOffsets(from first: Int64) throws -> Int64 {
        var next = first
        self.offsets = self.layout.entities.map { _ in 0 }
        self.keysMax = self.offsets
        for plan in self.choice.plan.objects {
            let least = try self.source.integer("SELECT min(Z_PK) FROM \(plan.table.sql)") ?? 1
            let greatest = try self.source.integer("SELECT max(Z_PK) FROM \(plan.table.sql)") ?? 0
            guard least > 0, greatest <= Limits.objectIDMax - next else {
                throw AdoptFailure(
                    .damaged,
                    "\(self.source.path) is damaged: \(plan.table.name) has the Z_PK \(least > 0 ? greatest : least)"
                )
            }
            let index = self.layout.index(of: plan.layout.number)!
            self.offsets[index] = next - 1
            self.keysMax[index] = greatest
            next += greatest
        }
        return next
    }

    private mutating func copy(_ plan: AdoptPlan.Objects, _ store: AdoptedStore, _ files: ExternalFiles) throws {
        let index = self.layout.index(of: plan.layout.number)!
        self.begin("objects of \(plan.layout.entity.name)")
        var objects = AdoptedObjects(
            plan,
            store.tables[index],
            store.values,
            index: index,
            offsets: self.offsets,
            keyMax: self.keysMax[index],
            files: files,
            options: self.options
        )
        let step = CheckStep(name: "", number: self.stepNumber, count: self.layout.entities.count + 2)
        try objects.copy(self.source) { [progress = self.progress] count in
            var step = step
            step.name = "objects of \(plan.layout.entity.name): \(count)"
            progress(step)
        }
        self.refused.add(objects.refused)
        self.dangling.add(objects.dangling)
        self.leftOut.add(objects.leftOut)
        for kind in plan.layout.kinds where !kind.entity.isAbstract {
            let count = objects.counts[kind.number] ?? 0
            self.report.entities.append(.init(name: kind.entity.name, count: count, idOffset: self.offsets[index]))
        }
        for slot in plan.layout.slots.indices {
            guard case .toOne(let relationship, _) = plan.layout.slots[slot] else { continue }
            self.report.links.append(
                .init(name: plan.layout.relationshipName(relationship.number), count: objects.linkCounts[slot] ?? 0)
            )
        }
    }

    private mutating func copy(_ plan: AdoptPlan.Pairs, _ store: AdoptedStore, from first: Int64) throws -> Int64 {
        self.begin("pairs of \(plan.name)")
        let index = self.layout.index(of: plan.layout.number)!
        var pairs = AdoptedPairs(plan, store.tables[index], offsets: self.offsets)
        let next = try pairs.copy(self.source, from: first)
        self.dangling.add(pairs.dangling)
        self.report.links.append(.init(name: plan.name, count: pairs.count))
        return next
    }

    /// Finds what the model's rules forbid: values that are not unique, circles, too few or too many objects.
    private mutating func check(_ store: AdoptedStore) throws {
        var found = AdoptFindings()
        try store.check { [layout = self.layout, offsets = self.offsets] table, rule, id in
            // Found when the objects were copied.
            guard !rule.hasSuffix(StoreRules.missingValue) else { return }
            let offset = table.isJoin ? 0 : offsets[layout.index(of: table.number)!]
            found.add(table.name, rule, id - offset)
        }
        self.refused.add(found)
    }
}

extension Store {
    /// Makes a store at a path from a store of Core Data, or, in a dry run, only reports what that would do. Throws
    /// `AdoptFailure` and `StoreError`. The store exists if the report refuses nothing, and it is complete.
    package static func adopt(
        _ source: String,
        versions: [AdoptedVersion],
        into path: String,
        options: AdoptOptions,
        newHistoryID: Identifier128,
        progress: @escaping (CheckStep) -> Void
    ) throws -> AdoptReport {
        let path = try StoreFile.resolve(path)
        let lock = try StoreLock(storePath: path)
        defer { withExtendedLifetime(lock) {} }
        for ending in ["", "-wal", "-journal"] where StoreFile.exists(path + ending) {
            throw AdoptFailure(.exists, "\(path)\(ending) exists: give --store the name of a new file")
        }
        let partial = path + ".being-made"
        StoreFile.removePartial(partial)
        do {
            let original = try AdoptSource(source, copy: partial + "-source")
            var adoption = try Adoption(original, versions, partial: partial, options: options, progress: progress)
            let report = try adoption.run(historyID: newHistoryID)
            guard report.refused.isEmpty, !options.isDryRun else {
                StoreFile.removePartial(partial)
                return report
            }
            StoreFile.handOver(partial)
            try StoreFile.publish(partial, as: path)
            return report
        } catch {
            StoreFile.removePartial(partial)
            throw error
        }
    }
}
