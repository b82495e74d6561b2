"""A contract of import-linter: a method has one name on every floor, and methods know nothing of each other."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class SubjectsContract(Contract):
    """No module of one subject imports a module of another.

    A subject has a room or a file of its name in some of the containers, such as ``dancfr.methods.dream``,
    ``actors.dream`` and ``learners.dream``.
    """

    subjects = fields.ListField(subfield=fields.StringField())
    containers = fields.ListField(subfield=fields.StringField())
    allowed = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Collects the direct imports between subjects that are not in `allowed` (``one -> other``)."""
        rooms = {f"{container}.{subject}": subject for container in self.containers for subject in self.subjects}
        modules = {
            module: subject
            for room, subject in rooms.items()
            if room in graph.modules
            for module in {room, *graph.find_descendants(room)}
        }
        allowed = {tuple(part.strip() for part in text.split("->")) for text in self.allowed}
        crossings = [
            (module, imported)
            for module, subject in sorted(modules.items())
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if modules.get(imported, subject) != subject and (subject, modules[imported]) not in allowed
        ]
        return ContractCheck(kept=not crossings, metadata={"crossings": crossings})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints the imports that cross."""
        for module, imported in check.metadata["crossings"]:
            output.print_error(f"- {module} imports {imported}")
