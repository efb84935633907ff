import NestModel
import NestTestSupport

extension ModelDraft {
    /// A tree whose objects an outline shows, and people who own some of them.
    static let tree: ModelDraft = {
        var node = EntityDraft(name: "Node")
        node.attributes = [
            .named("title", .string), .named("done", .boolean), .named("size", .integer, isOptional: false),
        ]
        node.relationships = [
            .toOne("parent", "Node", "children"), .toMany("children", "Node", "parent", isOrdered: true, .cascade),
            .toOne("owner", "Person", "nodes"),
        ]
        var person = EntityDraft(name: "Person")
        person.attributes = [.named("name", .string)]
        person.relationships = [.toMany("nodes", "Node", "owner", isOrdered: true)]
        return ModelDraft(entities: [node, person])
    }()
}

extension SeededRandom {
    /// Returns a request for an outline of a model that has one. Its window is not set.
    mutating func outline(_ scene: Scene) -> ObjectFetchRequest? {
        let found = scene.model.entities.flatMap { entity in
            entity.relationships.filter { relationship in
                relationship.isToMany && relationship.isOrdered && !relationship.isHiddenInverse
                    && scene.model.areOfOneTable(relationship.destination, entity.number)
                    && scene.model.inverse(of: relationship).map { !$0.isToMany && !$0.isHiddenInverse } ?? false
            }.map { (entity, $0) }
        }
        guard let (entity, relationship) = found.randomElement(using: &self) else { return nil }
        let kinds = scene.model.kinds(of: relationship.destination)
        let rows = kinds.randomElement(using: &self) ?? entity
        let objects = scene.naive.rows.keys.filter { scene.naive.isKind(scene.naive.rows[$0]!, of: entity.number) }
        guard let source = self.source(objects.sorted(), relationship, scene) else { return nil }
        var request = ObjectFetchRequest(
            entity: rows.number,
            source: FetchSource(object: source, relationship: relationship.number)
        )
        let all: [PropertyNumber] = rows.storedProperties + [.outlineDepth, .outlineChildren]
        request.projection = all.filter { _ in self.oneIn(2) }
        let booleans = rows.attributes.filter { $0.type == .boolean }.map(\.number)
        let expansion: OutlineExpansion =
            switch self.below(6) {
            case 0: .none
            case 1: booleans.randomElement(using: &self).map { .attribute($0) } ?? .all
            default: .all
            }
        request.outline = FetchOutline(expansion, exceptions: objects.sorted().filter { _ in self.oneIn(5) })
        if self.oneIn(3), let other = self.request(scene), other.entity == rows.number,
            other.predicate.comparisons.allSatisfy({ $0.isPlain && $0.operator != .inSubtree })
        {
            request.predicate = other.predicate
        }
        return request
    }

    /// Returns a window of an outline, which has at most 1,000 rows.
    mutating func outlineWindow(_ rows: [ObjectID]) -> FetchWindow {
        if self.oneIn(2), let id = rows.randomElement(using: &self) {
            return .around(id, before: self.below(5), after: self.below(5))
        }
        return .range(offset: self.below(rows.count + 2), limit: 1 + self.below(6))
    }

    /// Mostly an object with many children.
    private mutating func source(
        _ objects: [ObjectID],
        _ relationship: RelationshipDescription,
        _ scene: Scene
    ) -> ObjectID? {
        let some = (0..<4).compactMap { _ in objects.randomElement(using: &self) }
        return some.max { scene.naive.related($0, relationship).count < scene.naive.related($1, relationship).count }
    }
}

extension Comparison {
    /// Whether an outline may have it: no steps to many, and no counts.
    fileprivate var isPlain: Bool {
        switch self.path.leaf {
        case .count, .aggregate: false
        default: self.quantifier == .one
        }
    }
}

extension ManagedObjectModel {
    fileprivate func areOfOneTable(_ a: EntityNumber, _ b: EntityNumber) -> Bool {
        self.lineage(of: a).last?.number == self.lineage(of: b).last?.number
    }
}
