import NestModel

/// The rows of outlines, by the contents of a store. `NaiveWindow` cuts windows out of their sections.
extension NaiveResults {
    func shown(_ request: ObjectFetchRequest, _ folds: NaiveFolds) -> NaiveShownRows {
        let source = request.source!
        return NaiveShownRows(
            below: source.object,
            children: { id in
                self.entity(of: id)?.relationship(source.relationship).map { self.related(id, $0) } ?? []
            },
            isAdmitted: { id in
                self.rows[id].map { self.isKind($0, of: request.entity) } ?? false
                    && self.isTrue(request.predicate, of: id)
            },
            isUnfolded: { folds.isUnfolded($0) { id, property in self.value(property, of: id) } }
        )
    }

    /// Returns all rows of an outline as its only section, with the values in the order of `projection`.
    func outline(
        _ request: ObjectFetchRequest,
        _ folds: NaiveFolds,
        _ projection: [PropertyNumber]
    ) -> [ResultsSection] {
        let rows = self.shown(request, folds).rows.map { row in
            Row(
                id: row.id,
                values: projection.map { property in
                    row.value(property)
                        ?? property.column.map { self.value(request.columns[$0], of: row.id) }
                        ?? self.value(property, of: row.id)
                }
            )
        }
        return [ResultsSection(key: .string(""), rows: rows)]
    }
}
