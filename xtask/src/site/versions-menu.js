// A menu of versions beside the buttons: the list at the top of the site names them and their pages.
// Classic scripts, so that the site also works from files.
(() => {
    const here = "{{here}}";
    const book = new URL(path_to_root || "./", location.href);
    const top = new URL("{{up}}" || "./", book);
    const list = document.createElement("script");
    list.src = new URL("versions.js", top);
    list.onload = () => {
        const buttons = document.querySelector(".right-buttons");
        if (!buttons || justfullVersions.length < 2) return;
        const page = location.pathname.slice(book.pathname.length) || "index.html";
        const menu = document.createElement("select");
        menu.id = "versions";
        menu.setAttribute("aria-label", "Version of the documentation");
        for (const { name, folder, pages } of justfullVersions) {
            const same = pages.includes(decodeURI(page));
            const option = new Option(name, new URL(folder + (same ? page : "index.html"), top));
            if (name === here) option.setAttribute("selected", "");
            menu.append(option);
        }
        menu.onchange = () => { location.href = menu.value; };
        buttons.prepend(menu);
    };
    document.head.append(list);
})();
