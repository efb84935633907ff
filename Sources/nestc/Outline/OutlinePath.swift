import NestClient
import NestModel

/// The way from the top of a hierarchy down to an object.
struct OutlinePath {
    /// The objects that are read at most. Above them the path begins with an ellipsis.
    private static let stepsMax = 32

    let entity: EntityDescription
    /// The relationship to the parent.
    let parent: PropertyNumber

    /// `nil`: the relationship has no way up.
    init?(_ resolved: RequestOptions.Resolved) {
        guard let relationship = resolved.request.source?.relationship,
            let inverse = resolved.entity.relationship(relationship)?.inverse
        else { return nil }
        self.entity = resolved.entity
        self.parent = inverse
    }

    /// Returns the parent of an object; `nil` if it has none, or if the token does not reach it.
    func parent(of id: ObjectID, _ client: NestClient) async throws(NestError) -> ObjectID? {
        let object = try await client.object(id)
        return object.values.first { $0.property == self.parent }?.value.referenceValue
    }

    /// Returns the titles from the top down to an object.
    func titles(downTo id: ObjectID, _ client: NestClient) async throws(NestError) -> [String] {
        var titles: [String] = []
        var next: ObjectID? = id
        while let id = next, titles.count < Self.stepsMax {
            let object: ObjectDetail
            do throws(NestError) {
                object = try await client.object(id)
            } catch {
                // A token may not reach what is above its scope.
                guard !titles.isEmpty, error.code == .notFound || error.code == .forbidden else { throw error }
                return titles.reversed()
            }
            titles.append(self.title(of: object))
            next = object.values.first { $0.property == self.parent }?.value.referenceValue
        }
        if next != nil { titles.append("…") }
        return titles.reversed()
    }

    private func title(of object: ObjectDetail) -> String {
        let label = self.entity.labelAttribute
        if let value = object.values.first(where: { $0.property == label })?.value {
            let text = ShownText.value(value)
            if text != "" { return text }
        }
        return "#\(object.id)"
    }
}
