import NestModel
import NestProtocol
import NestSchema

/// Another model for a store that is in use.
extension Store {
    /// Gives the store another model in one transaction, durable on return: the file has the old model or the new one.
    /// A dry run changes nothing. Throws a refusal if a change cannot be made live. Call it outside a transaction.
    ///
    /// Every object that reads the store through `objects` has the new layout on return. `now`: the value of new dates
    /// that default to now.
    package func apply(
        _ model: ManagedObjectModel,
        isDryRun: Bool,
        now: Int64,
        rowsMax: Int = Limits.liveModelRowsMax
    ) throws(StoreError) -> LiveModelReport {
        guard self.membership == nil else {
            throw .refused(
                .unsupported,
                "the nodes of a cluster get their model from its log: use 'nestd cluster migrate', during which reads "
                    + "go on"
            )
        }
        // Nothing else about a model can be relied on while it has faults.
        let faults = model.faults + model.patternFaults
        guard faults.isEmpty else {
            throw .refused(.invalid, "the model cannot be served: " + Self.list(faults))
        }
        return try self.access { () throws(StoreError) in
            let used = try Self.usedNumbers(self.connection, path: self.path)
            let wanted = model.renumbered(like: self.layout.model, used: used)
            let numbered = wanted.faults
            guard numbered.isEmpty else {
                throw .refused(.invalid, "the store cannot have the model: " + Self.list(numbered))
            }
            var report = LiveModelReport()
            report.modelHash = wanted.hash
            guard wanted.hash != self.layout.modelHash else { return report }
            let plan = try LiveModelPlan(self.connection, from: self.layout, to: wanted, rowsMax: rowsMax)
            if isDryRun { return plan.report }
            guard plan.report.isLive else { throw .refused(.conflict, Self.refusal(plan.report)) }
            guard !self.hasPreparations else {
                throw .refused(.busy, "a write of very many objects is being prepared: try again when it is done")
            }
            try self.run(plan, now: now)
            self.adopt(plan.new)
            return plan.report
        }
    }

    private static let listedMax = 8

    private static func list(_ texts: [String]) -> String {
        let more = texts.count > self.listedMax ? "; and \(texts.count - self.listedMax) more" : ""
        return texts.prefix(self.listedMax).joined(separator: "; ") + more
    }

    private static func refusal(_ report: LiveModelReport) -> String {
        let texts = report.changes.filter { !$0.isLive }.map { "\($0.text) (\($0.obstacle))" }
        return
            "a running server cannot make these changes, and nothing was changed: \(self.list(texts)). Stop nestd and "
            + "use 'nestd migrate'"
    }

    private func run(_ plan: LiveModelPlan, now: Int64) throws(StoreError) {
        try self.connection.execute("BEGIN IMMEDIATE")
        do {
            for layout in plan.newTables {
                try self.connection.execute(Schema.table(layout, plan.new, name: layout.name))
                for index in Schema.indexes(layout) { try self.connection.execute(index) }
            }
            if plan.new.hasLargeValues { try ValueTable.create(self.connection) }
            for growth in plan.growths { try self.run(growth, plan.new, now: now) }
            try self.addEntities(of: plan)
            try self.noteReplacedModel()
            try Self.writeModel(self.connection, plan.new.model)
            Failpoint.modelWritten.pass()
            try self.connection.execute("COMMIT")
            Failpoint.modelDurable.pass()
        } catch {
            try self.connection.rollBack()
            throw error
        }
    }

    private func run(_ growth: LiveModelPlan.Growth, _ model: ModelLayout, now: Int64) throws(StoreError) {
        let layout = growth.layout
        let table = EntitySQL.quoted(layout.name)
        for slot in growth.slots {
            let (own, place) = Schema.columns(slot, layout, model)
            for column in [own] + place { try self.connection.execute("ALTER TABLE \(table) ADD COLUMN \(column)") }
        }
        try self.fill(growth, now: now)
        for name in growth.droppedIndexes { try self.connection.execute("DROP INDEX \(name)") }
        for index in growth.newIndexes { try self.connection.execute(index) }
    }

    /// Gives the objects that are there the defaults of their new attributes.
    private func fill(_ growth: LiveModelPlan.Growth, now: Int64) throws(StoreError) {
        let layout = growth.layout
        let slots = growth.filledSlots
        guard !slots.isEmpty else { return }
        let sql = EntitySQL(layout)
        let assignments = slots.enumerated().map { index, slot in
            guard layout.hasKinds else { return "\(sql.columns[slot]) = ?\(index + 1)" }
            let owners = layout.kinds.filter { $0.slots.contains(slot) }.map { "\($0.number.rawValue)" }
            let isOwner = "nest_entity IN (\(owners.joined(separator: ", ")))"
            return "\(sql.columns[slot]) = CASE WHEN \(isOwner) THEN ?\(index + 1) END"
        }
        let statement = try self.connection.prepare("UPDATE \(sql.table) SET \(assignments.joined(separator: ", "))")
        for (index, slot) in slots.enumerated() {
            guard case .attribute(let attribute) = layout.slots[slot] else { continue }
            let value = attribute.defaultsToNow ? AttributeValue.date(now) : attribute.kept(attribute.defaultValue)
            statement.bind(Int32(index + 1), value)
        }
        try statement.run()
    }

    private func addEntities(of plan: LiveModelPlan) throws(StoreError) {
        for entity in plan.new.model.entities where plan.old.model.entity(entity.number) == nil {
            let insert = try self.connection.statement("INSERT INTO nest_entity (number, name) VALUES (?1, ?2)")
            insert.bind(1, Int64(entity.number.rawValue))
            insert.bind(2, text: entity.name)
            try insert.run()
        }
    }

    // MARK: Models that were replaced

    /// The key of the hashes of models that a running server has replaced. A nestd that starts with one of them keeps
    /// the newer model: its file is only older.
    private static let replacedModelsKey = "replaced_models"

    private func noteReplacedModel() throws(StoreError) {
        var hashes = try Self.replacedModels(self.connection, path: self.path)
        hashes.removeAll { $0 == self.layout.modelHash }
        hashes.append(self.layout.modelHash)
        var writer = ByteWriter()
        let kept = hashes.suffix(Limits.replacedModelsMax)
        writer.write(count: kept.count)
        for hash in kept { writer.write(integer: hash) }
        try Self.setMeta(self.connection, Self.replacedModelsKey, writer.bytes)
    }

    /// Returns the hashes of the models that a running server has replaced, the newest last.
    static func replacedModels(_ connection: Connection, path: String) throws(StoreError) -> [UInt64] {
        guard let bytes = try self.meta(connection, self.replacedModelsKey) else { return [] }
        do {
            return try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
                var hashes: [UInt64] = []
                for _ in 0..<(try reader.count("models", max: Limits.replacedModelsMax, bytesEach: 8)) {
                    hashes.append(try reader.integer(UInt64.self, "model hash"))
                }
                return hashes
            }
        } catch {
            throw .corrupt(path: path, reason: "the hashes of its earlier models cannot be read: \(error)")
        }
    }

    /// Forgets the replaced models: the store gets a model that its administrator has chosen after them.
    static func forgetReplacedModels(_ connection: Connection) throws(StoreError) {
        try connection.execute("DELETE FROM nest_meta WHERE key = '\(self.replacedModelsKey)'")
    }
}
