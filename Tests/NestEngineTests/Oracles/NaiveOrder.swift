import NestModel
import NestTestSupport

/// Order and sections, computed naively from the values.
extension NaiveResults {
    /// Returns the folded values that the sort descriptors compare.
    func sortValues(_ request: ObjectFetchRequest, of id: ObjectID) -> [AttributeValue] {
        request.sort.map { descriptor in
            guard case .path(let path) = descriptor.key else { return .null }
            let value = self.value(path, of: id)
            if case .string(let text) = value { return .string(descriptor.folding.fold(text)) }
            return value
        }
    }

    func precedes(
        _ a: ObjectID,
        _ b: ObjectID,
        _ keys: [ObjectID: [AttributeValue]],
        _ request: ObjectFetchRequest
    ) -> Bool {
        for (index, descriptor) in request.sort.enumerated() {
            guard case .path(let path) = descriptor.key else { continue }
            let type = self.model.entity(request.entity).flatMap { path.attributeType(of: $0, in: self.model) }
            let (x, y) = (keys[a]![index], keys[b]![index])
            if Self.precedes(x, y, type) { return descriptor.isAscending }
            if Self.precedes(y, x, type) { return !descriptor.isAscending }
        }
        return a < b
    }

    /// Returns the attribute at the end of a path.
    func attribute(_ path: PropertyPath, _ entity: EntityNumber) -> AttributeDescription? {
        var entity = self.model.entity(entity)
        for step in path.steps { entity = (entity?.relationship(step)?.destination).flatMap { self.model.entity($0) } }
        guard case .attribute(let property) = path.leaf else { return nil }
        return entity?.attribute(property)
    }

    static func precedes(_ a: AttributeValue, _ b: AttributeValue, _ type: AttributeType?) -> Bool {
        switch (a, b) {
        case (.null, _): !b.isNull
        case (_, .null): false
        case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        // Exactly: a double cannot hold every integer.
        case (.integer(let a), .double(let b)): Int64(exactly: b.rounded(.up)).map { a < $0 } ?? (b > 0)
        case (.double(let a), .integer(let b)): Int64(exactly: a.rounded(.down)).map { $0 < b } ?? (a < 0)
        case (.boolean(let a), .boolean(let b)): !a && b
        case (.string(let a), .string(let b)):
            type == .decimal ? DecimalText.isLess(a, b) : a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b)
        case (.uuid(let a), .uuid(let b)): a < b
        default: false
        }
    }

    // MARK: Sections

    func sectionName(_ request: ObjectFetchRequest, of id: ObjectID) -> AttributeValue {
        guard let section = request.section else { return .string("") }
        return NaiveSections.name(
            section.function,
            request.sort[0].folding,
            self.value(section.path, of: id)
        )
    }
}
