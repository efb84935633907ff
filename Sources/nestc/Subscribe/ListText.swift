import NestModel

/// The texts of a list: its rows' values as cells of a table, and its sections' headings.
struct ListText {
    private let resolved: RequestOptions.Resolved
    private let names: SectionNames
    let totals: TotalsText

    init(_ resolved: RequestOptions.Resolved) {
        self.resolved = resolved
        self.names = SectionNames(resolved)
        self.totals = TotalsText(resolved)
    }

    var title: String { self.resolved.title }
    var isSectioned: Bool { self.names.isSectioned }
    /// Whether the user has specified the properties.
    var isChosen: Bool { !self.resolved.properties.isEmpty }

    /// The property that has the same value in all rows, the owner of the list, unless the user has asked for it.
    var constantColumn: String? {
        guard let list = self.resolved.request.source?.relationship, !self.isChosen else { return nil }
        let entity = self.resolved.entity
        let owner = entity.relationships.first { relationship in
            let inverse = self.resolved.model.entity(relationship.destination)?.relationship(list)?.inverse
            return !relationship.isToMany && relationship.inverse == list && inverse == relationship.number
        }
        return owner.map { entity.shownName($0.number) }
    }

    func printer(_ projection: [PropertyNumber]) -> RowPrinter {
        RowPrinter(self.resolved, projection: projection)
    }

    func heading(_ key: AttributeValue) -> StyledText { self.names.heading(key) }
}
