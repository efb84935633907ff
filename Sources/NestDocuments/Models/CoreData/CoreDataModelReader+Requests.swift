import NestModel

/// Reads fetched properties and fetch request templates as requests that the model names.
extension CoreDataModelReader {
    /// Returns a draft with the requests that nest can answer; the others get a warning.
    mutating func withRequests(_ draft: ModelDraft) -> ModelDraft {
        // The caller reports why a draft does not compile.
        guard let model = try? draft.compile() else { return draft }
        var draft = draft
        for element in self.requestElements { self.add(element, named: element, of: nil, to: &draft, model) }
        for entity in self.entityElements {
            for property in entity.children("fetchedProperty") {
                guard let request = property.children("fetchRequest").first else {
                    self.warnings.append(
                        "\(entity.text("name") ?? "").\(Self.title(property)): it has no fetch request"
                    )
                    continue
                }
                self.add(request, named: property, of: entity.text("name"), to: &draft, model)
            }
        }
        return draft
    }

    private mutating func add(
        _ element: XMLElement,
        named: XMLElement,
        of source: String?,
        to draft: inout ModelDraft,
        _ model: ManagedObjectModel
    ) {
        let what = source.map { "\($0).\(Self.title(named))" } ?? "the fetch request template \(Self.title(named))"
        guard let name = named.text("name"), let entityName = element.text("entity"),
            let entity = model.entity(named: entityName)
        else {
            self.warnings.append("\(what) is ignored: its entity is not in the model")
            return
        }
        var request = RequestDraft(name: name, source: source, entity: entityName)
        request.predicate = element.text("predicateString") ?? ""
        request.sort = Self.sort(of: element)
        let described = RequestDescription(
            name: request.fullName,
            source: source.flatMap { model.entity(named: $0)?.number },
            entity: entity.number,
            predicate: request.predicate,
            sort: request.sort
        )
        if let fault = described.fault(in: model) {
            self.warnings.append("\(what) is ignored: \(fault)")
        } else if draft.requests.contains(where: { $0.fullName == request.fullName }) {
            self.warnings.append("\(what) is ignored: the name is used more than once")
        } else {
            draft.requests.append(request)
        }
    }

    /// Returns the sort keys: `-` comes before a descending one.
    private static func sort(of element: XMLElement) -> String {
        let lists = [element] + element.children("sortDescriptors")
        return lists.flatMap { $0.children("sortDescriptor") }.compactMap { descriptor in
            descriptor.text("key").map { key in
                descriptor["ascending"].flatMap(CoreDataValue.boolean) == false ? "-\(key)" : key
            }
        }.joined(separator: ",")
    }
}
