import NestModel
import NestSchema

/// Limits the requests of a confined client to rows below the root, and to properties that do not lead out of the
/// sub-tree.
extension Confinement {
    /// Returns the request, limited to the rows in the token scope. `request` must be canonical, and its predicate
    /// well-formed.
    package func confined(_ request: ObjectFetchRequest) throws(StoreError) -> ObjectFetchRequest {
        guard self.model.kinds(of: self.layout.number).contains(where: { $0.number == request.entity }) else {
            let name = self.model.entity(request.entity)?.name ?? ""
            throw .refused(.notPermitted, "\(name) is not part of the sub-tree that the token is confined to")
        }
        if let source = request.source, source.relationship != self.down {
            throw Self.leadsOut(self.name(source.relationship))
        }
        for property in request.projection where property != .entity && property.column == nil && property != self.up {
            if self.layout.slot(of: property) != nil, self.isRelationship(property) {
                throw Self.leadsOut("\(self.name(property)), one of the requested properties,")
            }
        }
        for path in request.columns + request.totals.compactMap(\.path) { try self.check(path) }
        for sort in request.sort { if case .path(let path) = sort.key { try self.check(path) } }
        if let section = request.section { try self.check(section.path) }
        var request = request
        let inside = Comparison(
            path: PropertyPath(leaf: .object),
            operator: .inSubtree,
            values: [.reference(self.key.root), .integer(Int64(self.down.rawValue))]
        )
        request.predicate = try self.confined(request.predicate) && FetchPredicate(inside)
        return request
    }

    private func confined(_ predicate: FetchPredicate) throws(StoreError) -> FetchPredicate {
        FetchPredicate(
            nodes: try predicate.nodes.map { (node) throws(StoreError) in
                guard case .comparison(var comparison) = node else { return node }
                guard comparison.operator == .inSubtree else {
                    try self.check(comparison.path)
                    return node
                }
                guard comparison.values.count == 2, case .integer(let number) = comparison.values[1] else {
                    return node
                }
                guard number == Int64(self.down.rawValue) else {
                    throw Self.leadsOut(UInt16(exactly: number).map { self.name(PropertyNumber($0)) } ?? "SUBTREE")
                }
                // The object of the comparison is not checked here, because it may move in or out of the scope while
                // the result is live. The added root makes the comparison itself check it.
                comparison.values.append(.reference(self.key.root))
                return .comparison(comparison)
            }
        )
    }

    /// Refuses a path that leads out of the sub-tree. A path begins at a row, which is at least one level below the
    /// root, and must not go above the root.
    ///
    /// `level`: the levels below the root of the object from which the path leads, at least.
    private func check(_ path: PropertyPath, from level: Int = 1) throws(StoreError) {
        var level = level
        for step in path.steps {
            if step == self.down {
                level += 1
            } else if step == self.up, level > 0 {
                level -= 1
            } else {
                throw Self.leadsOut(self.name(step))
            }
        }
        if let property = path.leaf.collection, property != self.down { throw Self.leadsOut(self.name(property)) }
        for comparison in path.leaf.condition?.comparisons ?? [] { try self.check(comparison.path, from: level + 1) }
        if case .attribute(let property) = path.leaf, self.layout.slot(of: property) != nil,
            self.isRelationship(property)
        {
            throw Self.leadsOut(self.name(property))
        }
    }

    /// Checks an export of a sub-tree, at the revision that is exported.
    package func check(_ request: SubtreeRequest) throws(StoreError) {
        try self.require(request.root)
        guard request.relationship == self.down else { throw Self.leadsOut(self.name(request.relationship)) }
        for property in request.properties where self.layout.slot(of: property) != nil && self.isRelationship(property)
        {
            throw Self.leadsOut(self.name(property))
        }
    }
}
