import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

@Suite struct RandomModelTests {
    /// Generated models are valid, are equal after encoding and decoding, have a layout, and together have every
    /// feature.
    @Test func randomModelsAreSound() throws {
        var seen: Set<String> = []
        for seed in Seeds.range(0..<400) {
            var random = SeededRandom(seed: seed)
            let draft = random.smallModelDraft()
            let model: ManagedObjectModel
            do {
                model = try draft.compile()
            } catch {
                Issue.record("NEST_SEED=\(seed): \(error)\n    \(draft.brief)")
                continue
            }
            var writer = ByteWriter()
            writer.write(model: model)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                let model = try reader.model()
                try reader.finish("model")
                return model
            }
            if !model.faults.isEmpty || read != model || read.hash != model.hash { Issue.record("NEST_SEED=\(seed)") }
            let layout = ModelLayout(model)
            for entity in model.entities where layout[entity.number]?.kind(entity.number).entity != entity {
                Issue.record("NEST_SEED=\(seed): \(entity.name) has no table")
            }
            self.note(model, &seen)
        }
        guard Seeds.isUsual else { return }
        let sides = ["one", "many", "ordered"].flatMap { near in ["one", "many", "ordered"].map { "\(near)-\($0)" } }
        let rules = DeleteRule.allCases.map { "\($0)" }
        let types = AttributeType.inRows.map { "\($0)" }
        let others = [
            "one-one itself", "many-many itself", "abstract", "two levels", "root", "required one", "required many",
            "least", "one-way",
            "greatest", "unique 1", "unique 2", "unique below", "bounds", "default", "now", "middle of a tree",
        ]
        #expect(Set(sides + rules + types + others).subtracting(seen).isEmpty)
    }

    private func note(_ model: ManagedObjectModel, _ seen: inout Set<String>) {
        for entity in model.entities {
            if entity.isAbstract { seen.insert("abstract") }
            if model.lineage(of: entity.number).count > 2 { seen.insert("two levels") }
            if entity.root != nil { seen.insert("root") }
            for constraint in entity.uniquenessConstraints {
                seen.insert("unique \(constraint.count)")
                if entity.parent != nil { seen.insert("unique below") }
            }
            for attribute in entity.attributes {
                seen.insert("\(attribute.type)")
                if !attribute.minimum.isNull { seen.insert("bounds") }
                if !attribute.defaultValue.isNull { seen.insert("default") }
                if attribute.defaultsToNow { seen.insert("now") }
            }
            for relationship in entity.relationships { self.note(relationship, of: entity, model, &seen) }
        }
    }

    private func note(
        _ relationship: RelationshipDescription,
        of entity: EntityDescription,
        _ model: ManagedObjectModel,
        _ seen: inout Set<String>
    ) {
        func side(_ relationship: RelationshipDescription) -> String {
            relationship.isOrdered ? "ordered" : relationship.isToMany ? "many" : "one"
        }
        let inverse = model.inverse(of: relationship)!
        let isItself = inverse.number == relationship.number && relationship.destination == inverse.destination
        seen.insert("\(side(relationship))-\(side(inverse))\(isItself ? " itself" : "")")
        seen.insert("\(relationship.deleteRule)")
        if inverse.isHiddenInverse { seen.insert("one-way") }
        if !relationship.isOptional { seen.insert(relationship.isToMany ? "required many" : "required one") }
        if relationship.minimumCount > 0 { seen.insert("least") }
        if relationship.maximumCount > 0 { seen.insert("greatest") }
        let destination = model.entity(relationship.destination)!
        if destination.parent != nil, model.kinds(of: destination.number).count > 1 { seen.insert("middle of a tree") }
    }
}
