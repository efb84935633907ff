/// Sort descriptors as text.
extension [OrderingTerm] {
    /// Returns the text of a request, `name:c,-createdAt`. Reading the text returns the same descriptors.
    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        self.map { descriptor in
            let sign = descriptor.isAscending ? "" : "-"
            var folding = ""
            if descriptor.folding.contains(.caseInsensitive) { folding += "c" }
            if descriptor.folding.contains(.diacriticInsensitive) { folding += "d" }
            let tail = folding.isEmpty ? "" : ":\(folding)"
            switch descriptor.key {
            case .order: return "\(sign)order\(tail)"
            case .path(let path): return "\(sign)\(path.text(of: entity, in: model))\(tail)"
            }
        }.joined(separator: ",")
    }
}

extension ObjectFetchRequest {
    /// All paths whose values the request reads, each once: of the predicate, the columns, the totals and the order.
    package var paths: [PropertyPath] {
        var seen: Set<PropertyPath> = []
        let sorted = self.sort.compactMap { if case .path(let path) = $0.key { path } else { nil } }
        let tested = self.predicate.comparisons.filter { $0.operator != .inSubtree }.map(\.path)
        return (tested + self.columns + self.totals.compactMap(\.path) + sorted).filter { seen.insert($0).inserted }
    }
}
