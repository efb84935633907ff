import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// EXPLAIN: describes how the engine follows a fetch request, and the live result that it has for it. Reads no rows and
/// changes nothing.
struct Explanations {
    let store: Store
    let scopes: TokenScopes
    let live: LiveResults

    func explain(_ request: ObjectFetchRequest, _ scope: AuthorisationScope) throws(StoreError) -> Explanation {
        // Refuses unknown entities, and sources that do not exist.
        let resolved = try RequestResolver(self.store, self.scopes, scope).resolve(request, mayBeGone: false)
        if resolved.outline?.keepsFolds == true { throw Outlines.keepsNothing }
        let source = resolved.source
        guard let entity = self.store.layout.model.entity(request.entity),
            let layout = self.store.layout[request.entity]
        else { preconditionFailure("a resolved request names an entity of the model") }
        var explainer = Explainer(model: self.store.layout, entity: entity, layout: layout)
        if let requested = request.source {
            guard let owner = try self.store.object(requested.object) else {
                preconditionFailure("the owner of a resolved request exists")
            }
            explainer.relationship = owner.layout.relationshipName(requested.relationship)
        }
        // Each outline follows all changes of its table, and has no live result.
        let isOutline = resolved.outline != nil
        let (routing, route) = isOutline ? (.table, layout.name) : explainer.routing(source)
        let (reading, candidates) = explainer.reading(source)
        return Explanation(
            revision: self.store.head,
            request: explainer.parts(request.canonical(in: self.store.layout.model)),
            routing: routing,
            route: route,
            reading: reading,
            candidates: candidates,
            paths: explainer.paths(request),
            subtrees: explainer.subtrees(source) { self.live.related.memberCount($0) },
            isInJournal: !source.isComputed,
            live: isOutline ? nil : self.live[ResultKey(source: source, scope: scope)].map(Self.live)
        )
    }

    private static func live(_ entry: ResultRegistry.Entry) -> Explanation.Live {
        Explanation.Live(
            rows: entry.result.tree.count,
            sections: entry.result.tree.sectionCount,
            bytes: entry.result.byteCount,
            views: entry.views.count,
            subscriptions: entry.views.values.reduce(0) { $0 + $1.counts.values.reduce(0, +) },
            evaluations: entry.evaluations,
            changes: entry.changes
        )
    }
}

/// Describes a compiled request with the names of its model.
private struct Explainer {
    let model: ModelLayout
    let entity: EntityDescription
    /// The layout of the rows' table.
    let layout: EntityLayout
    /// The relationship of the request's source, for example `Company.staff`.
    var relationship = ""

    init(model: ModelLayout, entity: EntityDescription, layout: EntityLayout) {
        self.model = model
        self.entity = entity
        self.layout = layout
    }

    // MARK: The request

    /// Returns the parts of a canonical request.
    func parts(_ request: ObjectFetchRequest) -> [Explanation.Part] {
        let model = self.model.model
        var parts = [Explanation.Part("entity", self.entity.name)]
        if let source = request.source { parts.append(.init("source", "\(self.relationship) of \(source.object)")) }
        if !request.predicate.nodes.isEmpty {
            parts.append(.init("where", Self.cut(request.predicate.text(of: self.entity, in: model))))
        }
        if let outline = request.outline { parts.append(.init("outline", self.text(outline))) }
        if !request.sort.isEmpty { parts.append(.init("sort", request.sort.text(of: self.entity, in: model))) }
        if let section = request.section {
            parts.append(.init("section", section.text(of: self.entity, in: model)))
        }
        if !request.totals.isEmpty { parts.append(.init("totals", request.totals.text(of: self.entity, in: model))) }
        let properties = request.projection.map { property in
            if property == .entity { return "entity" }
            if property == .outlineDepth { return "depth" }
            if property == .outlineChildren { return "children" }
            if let column = property.column { return request.columns[column].text(of: self.entity, in: model) }
            return self.entity.propertyName(property) ?? "\(property.rawValue)"
        }
        parts.append(.init("properties", Self.cut(properties.joined(separator: ","))))
        return parts
    }

    private func text(_ outline: FetchOutline) -> String {
        let usual =
            switch outline.expansion {
            case .none: "folded"
            case .all: "unfolded"
            case .attribute(let property): "unfolded where \(self.entity.propertyName(property) ?? "")"
            case .asBefore: "as before"
            }
        return outline.exceptions.isEmpty ? usual : "\(usual), except \(outline.exceptions.count) objects"
    }

    // MARK: Routing of changes

    func routing(_ source: ResultSource) -> (Explanation.Routing, String) {
        if case .paired(_, _, _, _, let owner) = source.membership {
            return (.pair, "\(self.relationship) of \(owner)")
        }
        guard let route = ResultRegistry.route(source) else { return (.table, self.layout.name) }
        return (.value, Self.cut(self.equality(route.slot, route.value)))
    }

    private func equality(_ slot: Int, _ value: AttributeValue) -> String {
        let property = self.layout.properties[slot]
        let path =
            if case .toOne = self.layout.slots[slot] {
                PropertyPath(steps: [property], leaf: .object)
            } else {
                PropertyPath(leaf: .attribute(property))
            }
        let comparison = Comparison(path: path, operator: .equal, values: [value])
        return FetchPredicate(comparison).text(of: self.entity, in: self.model.model)
    }

    // MARK: Reading

    func reading(_ source: ResultSource) -> (Explanation.Reading, String) {
        let reading: Explanation.Reading =
            if !source.isDecidedBySQL { .examined } else { source.isOrderedBySQL ? .ordered : .sorted }
        var terms: [String] = []
        switch source.membership {
        case .all: break
        case .owned(let slot, _, let owner): terms.append(self.equality(slot, .reference(owner)))
        case .paired(_, _, _, _, let owner): terms.append("in \(self.relationship) of \(owner)")
        }
        terms += (source.filter?.constants ?? []).map { self.equality($0.slot, $0.value) }
        if let exclusion = source.filter?.exclusion { terms.append("SELF != \(exclusion)") }
        let tail = terms.isEmpty ? "" : " where \(terms.joined(separator: " AND "))"
        return (reading, Self.cut(self.entity.name + tail))
    }

    // MARK: Dependencies

    /// Returns the paths of a request that lead beyond the row.
    func paths(_ request: ObjectFetchRequest) -> [Explanation.Path] {
        request.paths.compactMap { path in
            guard let compiled = CompiledPath(path, of: self.entity, in: self.model), !compiled.isOwn else {
                return nil
            }
            var tables: [String] = []
            for step in compiled.steps {
                guard let name = self.model[step.table]?.name, !tables.contains(name) else { continue }
                tables.append(name)
            }
            return Explanation.Path(path.text(of: self.entity, in: self.model.model), tables: tables)
        }
    }

    func subtrees(_ source: ResultSource, _ count: (SubtreeKey) -> Int?) -> [Explanation.Subtree] {
        var seen: Set<SubtreeKey> = []
        return (source.filter?.subtrees ?? []).filter { seen.insert($0).inserted }.map { key in
            let above = self.layout.propertyName(self.layout.properties[key.slot]) ?? ""
            return Explanation.Subtree("below \(key.root) by \(above)", objects: count(key))
        }
    }

    /// Cuts a text that is too long for people to read, such as a long list of values.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > Limits.explanationTextBytesMax else { return text }
        let room = Limits.explanationTextBytesMax - "…".utf8.count
        var end = text.utf8.index(text.startIndex, offsetBy: room)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return text[..<end] + "…"
    }
}
