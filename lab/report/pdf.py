"""A finished page as a tagged PDF (PDF/UA-1), made by WeasyPrint without a browser and without a network."""

from __future__ import annotations

import contextlib
import io
import logging

from lab.errors import LabError

NEEDS = "apt-get install -y libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
"""What WeasyPrint takes from the system, as Debian and Ubuntu call it."""


def pdf(page: bytes) -> bytes:
    """A page as PDF; the same page gives the same bytes. It holds a title, tags and a language, and no date.

    Raises:
        LabError: WeasyPrint, or a system library it needs, is not there.
    """
    return _write(page, uncompressed=False)


def open_pdf(page: bytes) -> bytes:
    """The same document with nothing compressed, so that the leak gate can read what is inside it."""
    return _write(page, uncompressed=True)


def _write(page: bytes, *, uncompressed: bool) -> bytes:
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its own advice before it raises
            from weasyprint import HTML, URLFetcher
    except ModuleNotFoundError:
        raise LabError("a PDF needs WeasyPrint, which is not installed here", "pip install weasyprint") from None
    except OSError as problem:
        missing = str(problem).partition(":")[0]
        raise LabError(f"a PDF needs system libraries that are not here: {missing}", NEEDS) from None
    logging.getLogger("weasyprint").setLevel(logging.ERROR)  # it warns of CSS that only browsers use

    fetcher = URLFetcher(allowed_protocols=("data",))  # the page is self-contained: nothing is fetched
    document = HTML(string=page.decode(), url_fetcher=fetcher)
    return bytes(document.write_pdf(pdf_variant="pdf/ua-1", uncompressed_pdf=uncompressed))
